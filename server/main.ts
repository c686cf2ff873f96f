import { COMMANDS } from './commands/commands.ts'
import { commandHelp, programHelp, version } from './commands/help.ts'
import { readConfig, unknownSettings } from './config.ts'
import { StartError } from './start-error.ts'

/** Runs one command and exits. Errors that the caller can fix are printed without a stack trace. */
export async function run(args: string[]): Promise<void> {
  try {
    process.exitCode = await runCommand(args)
  } catch (error) {
    const text = error instanceof StartError ? error.message : String((error as Error).stack)
    process.stderr.write(`${text}\n`)
    process.exitCode = 1
  }
  // Nothing may keep the process once its command is done; pending output is written first.
  process.stdout.write('', () => process.exit())
}

async function runCommand([name = 'serve', ...parameters]: string[]): Promise<number> {
  if (name === '--version' || name === '-v') return print(`${version()}\n`)
  if (isHelp(name) || name === 'help') return print(programHelp(COMMANDS))
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (!command) {
    throw new StartError(`There is no "${name}". Possible: ${Object.keys(COMMANDS).join(', ')}.`)
  }
  if (parameters.some(isHelp)) return print(commandHelp(name, command))

  readDotEnv()
  const config = readConfig(process.env, command.settings)
  const warnings = unknownSettings(process.env)
  if (!command.logs) for (const line of warnings) process.stderr.write(`${line}\n`)
  // npm runs its scripts in the project's folder; a path is relative to where the command was given.
  const callerDirectory = process.env.INIT_CWD ?? '.'
  return command.run(config, { parameters, callerDirectory, warnings })
}

const isHelp = (parameter: string) => parameter === '--help' || parameter === '-h'

/** Settings in `.env` of the current directory count where the environment has none. */
function readDotEnv(): void {
  try {
    process.loadEnvFile('.env')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT') throw new StartError(`The file .env can't be read: ${message}`)
  }
}

function print(text: string): number {
  process.stdout.write(text)
  return 0
}
