import { COMMANDS, findCommand } from './commands/commands.ts'
import { commandHelp, programHelp, version } from './commands/help.ts'
import { readConfig, sandboxWarnings, unknownSettings } from './config.ts'
import { PROCESS_COMMAND } from './processes/process-command.ts'
import { readDotEnv } from './settings/dot-env.ts'
import { failureText, StartError } from './start-error.ts'

/** Runs one command and exits. Errors that the caller can fix are printed without a stack trace. */
export async function run(args: string[]): Promise<void> {
  try {
    process.exitCode = await runCommand(args)
  } catch (error) {
    process.stderr.write(`${failureText(error)}\n`)
    process.exitCode = 1
  }
  // Writes pending output, then exits even if something keeps the event loop alive.
  process.stdout.write('', () => process.exit())
}

async function runCommand([name = 'serve', ...parameters]: string[]): Promise<number> {
  if (name === '--version' || name === '-v') return print(`${version()}\n`)
  if (isHelp(name) || name === 'help') return print(programHelp(COMMANDS))
  const command = findCommand(name)
  if (!command) {
    throw new StartError(
      `Unknown command "${name}". The commands are ${Object.keys(COMMANDS).join(', ')}. Sellers have another program: cli/README.md.`,
    )
  }
  if (parameters.some(isHelp)) return print(commandHelp(name, command))

  // One of several processes has the settings from its primary process. The file may have changed since that started.
  if (name !== PROCESS_COMMAND) readDotEnv(process.env)
  const config = readConfig(process.env, command.settings)
  const warnings = [...unknownSettings(process.env), ...sandboxWarnings(config)]
  if (!command.logs) for (const line of warnings) process.stderr.write(`${line}\n`)
  // npm runs scripts in the project's folder; INIT_CWD is the directory in which the user ran npm.
  const callerDirectory = process.env.INIT_CWD ?? '.'
  return command.run(config, { parameters, callerDirectory, warnings })
}

const isHelp = (parameter: string) => parameter === '--help' || parameter === '-h'

function print(text: string): number {
  process.stdout.write(text)
  return 0
}
