import type { Config } from '../config.ts'
import type { Options } from '../settings/parameters.ts'
import type { SettingName } from '../settings/settings.ts'

/** One command of the program: `node cardstall.js NAME`. */
export type Command = {
  /** One line for the list of commands. */
  summary: string
  /** Additional text for the command's own help. */
  details?: string
  /** Positional parameters, as the usage line shows them. */
  parameters?: string
  options?: Options
  /** Settings that the command uses. It ignores all others, even invalid ones. */
  settings: readonly SettingName[]
  /** Whether the command logs to standard error, and therefore reports warnings about settings itself. */
  logs?: boolean
  /** @returns the exit code */
  run(config: Config, invocation: Invocation): Promise<number>
}

type Invocation = {
  parameters: string[]
  /** Directory in which the user ran the command: relative paths start there. */
  callerDirectory: string
  /** Warnings about settings, one line each. */
  warnings: string[]
}
