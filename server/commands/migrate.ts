import { parseParameters } from '../settings/parameters.ts'
import type { Command } from './command.ts'
import { DATABASE_SETTINGS, withDatabase } from './with-database.ts'

export const migrateCommand: Command = {
  summary: 'Apply the migrations that the database lacks, and list them',
  details:
    'The service does the same at each start. Run it beforehand to keep a start short, or with a role that may change the schema.',
  settings: DATABASE_SETTINGS,
  async run(config, { parameters }) {
    parseParameters(parameters, {})
    const { migrated } = await withDatabase(config, async (database) => database)
    process.stdout.write(`${migrated.length === 0 ? 'Nothing to do.' : migrated.join('\n')}\n`)
    return 0
  },
}
