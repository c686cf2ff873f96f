import { LISTEN_OPTIONS } from '../listen/options.ts'
import { restartIfCompiled } from '../processes/compiled-code.ts'
import { openFilesWarnings } from '../processes/open-files.ts'
import { PROCESS_COMMAND } from '../processes/process-command.ts'
import { parseParameters } from '../settings/parameters.ts'
import { SETTING_NAMES } from '../settings/settings.ts'
import { failureText } from '../start-error.ts'
import { createAccountCommand, createKeyCommand, revokeKeyCommand } from './administration.ts'
import type { Command } from './command.ts'
import { importCommand } from './import.ts'
import { migrateCommand } from './migrate.ts'
import { resetCommand } from './reset.ts'

/** The commands of the program. The service is only loaded by the commands that use it. */
export const COMMANDS: Record<string, Command> = {
  serve: {
    summary: 'Start the service (npm start). This is the default',
    settings: SETTING_NAMES,
    logs: true,
    async run(config, { parameters, warnings: ofSettings }) {
      parseParameters(parameters, {})
      const warnings = [...ofSettings, ...openFilesWarnings()]
      if (config.processes > 1) {
        const { runProcesses } = await import('../processes/primary.ts')
        return runProcesses(config, warnings)
      }
      const { serve } = await import('../serve.ts')
      restartIfCompiled()
      return serve(config, warnings)
    },
  },
  migrate: migrateCommand,
  'catalog:import': importCommand,
  'accounts:create': createAccountCommand,
  'keys:create': createKeyCommand,
  'keys:revoke': revokeKeyCommand,
  reset: resetCommand,
  listen: {
    summary: 'Show a seller’s events as they happen, or forward them (npm run listen)',
    options: LISTEN_OPTIONS,
    settings: ['PORT', 'PUBLIC_URL', 'DATA_DIR', 'OPERATOR_TOKEN'],
    async run(config, { parameters }) {
      const { listen } = await import('../listen/listen.ts')
      return listen(config, parameters)
    },
  },
}

/** Runs one of several processes. Only the primary process uses it. */
const processCommand: Command = {
  summary: 'Run one of the processes of a service',
  settings: SETTING_NAMES,
  logs: true,
  async run(config) {
    const { serve } = await import('../serve.ts')
    const { linkToPrimary } = await import('../processes/primary-link.ts')
    const primary = linkToPrimary()
    try {
      // The primary process has logged the warnings.
      return await serve(config, [], primary)
    } catch (error) {
      // Printed, it would be a line among those of the log.
      await primary.failed(failureText(error))
      return 1
    }
  },
}

/** The command of this name, if there is one. */
export function findCommand(name: string): Command | undefined {
  if (name === PROCESS_COMMAND) return processCommand
  return Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
}
