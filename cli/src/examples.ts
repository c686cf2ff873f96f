import type { Command } from 'commander'

/** Examples of each command: what follows its name. A test compares them with the arguments and options. */
const EXAMPLES: Record<string, readonly string[]> = {
  login: ['--url https://market.example', '--url https://market.example --profile second'],
  logout: ['', '--profile second'],
  whoami: ['', '--json'],
  profiles: [''],
  'cards search': ['charizard ex', 'pikachu --set base1 --limit 5'],
  'cards show': ['swsh9-18', 'brs_18 --offers'],
  sets: ['', 'scarlet --language JP'],
  products: ['elite trainer box', '--set swsh9'],
  'listings list': ['--status active --limit 20', '--since 2026-03-01 --ndjson'],
  'listings show': ['4711'],
  'listings set': ['4711 --price 12,50', '4711 --quantity 3 --status active'],
  'listings delete': ['4711', '4711 4712 4713 --yes'],
  'listings export': ['stock.csv', '--status active > active.csv'],
  'listings import': [
    'stock.csv --dry-run',
    'stock.csv --map "Cardmarket price=price" --failed failed.csv',
  ],
  'listings reprice': ['prices.csv', 'prices.csv --yes'],
  'orders list': ['--status pending', '--since 2026-03-01 --json'],
  'orders show': ['815'],
  'orders pick': ['', '--html pick.html'],
  'orders ship': ['815 816', '815 --tracking 3SABCD0123456'],
  'orders cancel': ['815 --reason out_of_stock', '815 --reason other --no-restock --yes'],
  'labels buy': ['815 --out labels', '815 816 817 --merge labels.pdf'],
  payouts: ['', '--state due'],
  statement: ['2026-03', '2026-03 --csv > march.csv'],
  'disputes list': ['--state open'],
  'disputes answer': [
    '815 "It was sent on Monday." --dispute 31',
    '815 "The parcel." --dispute 31 --photo https://shop.example/parcel.jpg',
  ],
  'reviews list': ['--stars 1'],
  'reviews reply': ['92 "Thank you!"'],
  'shipping list': [''],
  'shipping set': ['letter --price 1,65', 'letter --enabled no'],
  holiday: ['', 'on'],
  'webhooks list': [''],
  'webhooks create': ['https://shop.example/events order.created listing.sold'],
  'webhooks delete': ['12', '12 13'],
  'webhooks rotate-secret': ['12'],
  'webhooks test': ['12 order.created'],
  'webhooks listen': [
    '--forward http://localhost:3000/events',
    '--events order.created,listing.sold --after now',
  ],
  'webhooks trigger': ['order.created'],
  'webhooks deliveries': ['--failed', '--endpoint 12 --event order.created'],
  'webhooks resend': [
    '5001 5002',
    '--endpoint 12 --from 2026-03-01T08:00:00Z --to 2026-03-01T12:00:00Z',
  ],
  'webhooks verify': [
    '--secret "$SECRET" --timestamp 1772352000 --signature "$SIGNATURE" < body.json',
  ],
  sync: ['--once --ndjson', '--cursor stock.cursor --after now'],
  open: ['', 'orders'],
  completion: ['bash > ~/.local/share/bash-completion/completions/cardstall', 'zsh'],
}

/** The examples of a command as a person types them. `path` is the command's name, such as `listings import`. */
export const examplesOf = (path: string): string[] =>
  (EXAMPLES[path] ?? []).map((rest) => `cardstall ${path} ${rest}`.trimEnd())

/** Makes the help of each command end with its examples. */
export function showExamples(command: Command, path: string[] = []): void {
  const examples = examplesOf(path.join(' '))
  if (examples.length > 0) {
    command.addHelpText('after', ['\nExamples:', ...examples].join('\n  '))
  }
  for (const inner of command.commands) showExamples(inner, [...path, inner.name()])
}
