import { CardstallError } from '@cardstall/sdk'
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
import { referenceCommand } from './reference.ts'
import { CommandError, EXIT } from './session.ts'

const program = new Command('cardstall')
  .description('Sell Pokemon cards and sealed products on a Cardstall marketplace.')
  .version(manifest.version, '--version', 'print the version')
  .option('--url <url>', 'address of the marketplace (default: the profile’s, or CARDSTALL_URL)')
  .option('--key <key>', 'API key (default: the profile’s, or CARDSTALL_KEY)')
  .option('--profile <name>', 'profile to use')
  .option('--json', 'print JSON')
  .option('--ndjson', 'print each record as a line of JSON')
  .option('--quiet', 'print results only')
  .option('--no-color', 'print without colours')
  .helpOption('--help', 'print help')
  .exitOverride()
  .showHelpAfterError('Run "cardstall --help" for all commands.')
  .addHelpText(
    'after',
    `
Examples:
  cardstall login
  cardstall cards search charizard
  cardstall listings import stock.csv --dry-run
  cardstall orders list --status pending`,
  )

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

// A reader such as `head` may close the pipe.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})
process.on('SIGINT', () => process.exit(EXIT.interrupted))

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = report(error)
}

/** Prints an error as one sentence, and returns the exit code. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT.usage
  const { message, requestId } = error as CardstallError
  const request = requestId === undefined ? '' : ` (request ${requestId})`
  process.stderr.write(`${message}${request}\n`)
  if (error instanceof CommandError) return error.exitCode
  if (error instanceof CardstallError && error.status === 401) return EXIT.notSignedIn
  return EXIT.refused
}

/** Settings that commander does not pass on to commands which were added. */
function inherit(command: Command): void {
  for (const inner of command.commands) {
    inner.copyInheritedSettings(command).exitOverride()
    inherit(inner)
  }
}
