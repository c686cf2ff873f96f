import './color.ts'
import {
  AmbiguousIdentifierError,
  AuthenticationError,
  CardstallError,
  ConnectionError,
} from '@cardstall/sdk'
import { Command, CommanderError } from 'commander'
import manifest from '../package.json' with { type: 'json' }
import { accountCommands } from './commands/account.ts'
import { catalogCommands } from './commands/catalog.ts'
import { listingCommands } from './commands/listings.ts'
import { orderCommands } from './commands/orders.ts'
import { shellCommands } from './commands/shell.ts'
import { shopCommands } from './commands/shop.ts'
import { syncCommand } from './commands/sync.ts'
import { webhookCommands } from './commands/webhooks.ts'
import { showExamples } from './examples.ts'
import { reasonOf } from './files.ts'
import { handleInterruptions } from './interruption.ts'
import { endProgress, printable } from './output.ts'
import { referenceCommand } from './reference.ts'
import { CommandError, EXIT, requestOf, UnknownOutcomeError } from './session.ts'

/** By hand, because it must fit on a screen of 24 lines. A test compares it with the commands. */
const HELP = `Sell Pokemon cards and sealed products on a Cardstall marketplace.

Usage: cardstall COMMAND [OPTIONS]

  login, logout          sign in through a browser, and out
  whoami, profiles       the shop and the key in use; the stored keys
  cards, sets, products  search the catalog: cards search, cards show
  listings               list, show, set, delete, import, export, reprice
  orders                 list, show, pick, ship, cancel
  labels                 buy
  disputes, reviews      list and answer; list and reply
  payouts, statement     your payouts; the statement of a month
  shipping, holiday      your shipping options; close the shop for a while
  webhooks               your endpoints and events: webhooks --help
  sync                   every change of your listings and orders
  open, completion       the dashboard; completion for bash, zsh and fish

  --url URL, --key KEY   marketplace and key (CARDSTALL_URL, CARDSTALL_KEY)
  --profile NAME         use this stored profile instead of the current one
  --json, --ndjson       print JSON; print each record as a line of JSON
  --quiet, --no-color    print results only; print without colours
  --version, --help      "cardstall COMMAND --help" explains a command

Example: cardstall listings import stock.csv --dry-run
`

const program = new Command('cardstall')
  .version(manifest.version, '--version', 'print the version')
  .option('--url <url>', 'address of the marketplace (default: the profile’s, or CARDSTALL_URL)')
  .option('--key <key>', 'API key (default: the profile’s, or CARDSTALL_KEY)')
  .option('--profile <name>', 'profile to use (default: that of the last login)')
  .option('--json', 'print JSON')
  .option('--ndjson', 'print each record as a line of JSON')
  .option('--quiet', 'print results only')
  .option('--no-color', 'print without colours')
  .helpOption('--help', 'print help')
  .helpCommand(false)
  .exitOverride()
  .configureOutput({ outputError: () => {} })
program.helpInformation = () => HELP

for (const add of [
  accountCommands,
  catalogCommands,
  listingCommands,
  orderCommands,
  shopCommands,
  webhookCommands,
  syncCommand,
  shellCommands,
  referenceCommand,
]) {
  add(program)
}
inherit(program)
showExamples(program)

// A reader such as `head` may close the pipe.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit()
  process.exitCode = report(new CommandError(`The output cannot be written: ${reasonOf(error)}.`))
  process.exit()
})
process.stderr.on('error', () => {})
handleInterruptions()

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = report(error)
} finally {
  endProgress()
}

/** Prints an error as one sentence, and returns the exit code. */
function report(error: unknown): number {
  if (error instanceof CommanderError && /^commander\.(help|version)/.test(error.code)) {
    return error.exitCode === 0 ? 0 : EXIT.usage
  }
  endProgress()
  process.stderr.write(`${printable(sentenceOf(error as Error))}${requestOf(error)}\n`)
  if (error instanceof CommanderError) return EXIT.usage
  if (error instanceof CommandError) return error.exitCode
  if (error instanceof AuthenticationError) return EXIT.notSignedIn
  return EXIT.refused
}

function sentenceOf(error: Error): string {
  const { message } = error
  const begin = message.replace(/\.$/, '')
  if (error instanceof CommanderError) {
    const text = begin.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ')
    return `${text.charAt(0).toUpperCase()}${text.slice(1)}: see "${namedCommand()} --help".`
  }
  if (error instanceof AuthenticationError) {
    const { profile } = program.opts<{ profile?: string }>()
    const login = profile === undefined ? 'login' : `login --profile ${profile}`
    return `${begin}: run "cardstall ${login}", or check --key and CARDSTALL_KEY.`
  }
  if (error instanceof UnknownOutcomeError) {
    return `${begin}. The change may have been made: look before you repeat the command.`
  }
  if (error instanceof ConnectionError) return `${begin}: check the address and your network.`
  if (error instanceof AmbiguousIdentifierError) {
    return `${begin}: ${error.candidates.map(({ id }) => id).join(', ')}.`
  }
  if (error instanceof CardstallError) {
    const { retryAfter } = error
    const isTold = !retryAfter || /try again/i.test(message)
    return `${message}${isTold ? '' : ` Try again in ${retryAfter} s.`}`
      .replace('`baseUrl`', 'the address of the marketplace')
      .replace(/^The (?:\w+_)?(\w+) field/, (text, name) =>
        isGiven(`--${name}`) ? `--${name}` : text,
      )
  }
  const { path, syscall } = error as NodeJS.ErrnoException
  if (syscall === undefined) return message
  if (path === undefined) return `Reading or writing failed: ${reasonOf(error)}.`
  return `${path} cannot be ${syscall === 'read' ? 'read' : 'opened or written'}: ${reasonOf(error)}.`
}

/** Whether an option is on the command line. The service names it by the field of its request. */
function isGiven(option: string): boolean {
  return process.argv.some((word) => word === option || word.startsWith(`${option}=`))
}

/** The command on the command line, as far as it exists. */
function namedCommand(): string {
  let command: Command = program
  const names = ['cardstall']
  for (const word of process.argv.slice(2)) {
    const inner = command.commands.find((inner) => inner.name() === word)
    if (!inner) continue
    names.push(word)
    command = inner
  }
  return names.join(' ')
}

/** Settings that commander does not pass on to commands which were added. */
function inherit(command: Command): void {
  for (const inner of command.commands) {
    inner.copyInheritedSettings(command).exitOverride().hook('preSubcommand', refuseUnknown)
    inherit(inner)
  }
}

/** Refuses a mistyped command, which commander takes for an argument of the group's default command. */
function refuseUnknown(group: Command): void {
  const [word = '-'] = group.args
  const isKnown = word === 'help' || group.commands.some((command) => command.name() === word)
  if (isKnown || word.startsWith('-')) return
  // Commander's own method, which suggests the nearest match. Its types lack it.
  const { unknownCommand } = group as Command & { unknownCommand(): never }
  unknownCommand.call(group)
}
