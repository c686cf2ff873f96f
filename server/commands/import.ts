import path from 'node:path'
import { openSources, runImportCommand } from '../catalog/import/command.ts'
import { createLog } from '../log.ts'
import type { Command } from './command.ts'
import { DATABASE_SETTINGS, withDatabase } from './with-database.ts'

export const importCommand: Command = {
  summary: 'Import catalog files (npm run catalog:import -- PATH…)',
  details:
    'PATH is an NDJSON file (.ndjson, or .gz if it is compressed), or a folder in the layout of pokemon-tcg-data. A running service serves the records within about two seconds. Importing the same records again changes nothing.',
  parameters: 'PATH…',
  settings: [...DATABASE_SETTINGS, 'LOG_LEVEL'],
  async run(config, { parameters, callerDirectory }) {
    // Before the database, which the first command creates.
    const sources = await openSources(parameters.map((file) => path.resolve(callerDirectory, file)))
    const { log, flush } = createLog(config.logLevel)
    try {
      return await withDatabase(config, ({ interrupted, ...database }) =>
        runImportCommand({ ...database, log }, sources, interrupted),
      )
    } finally {
      flush()
    }
  },
}
