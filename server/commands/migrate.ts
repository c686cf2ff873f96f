import { parseParameters } from '../settings/parameters.ts'
import type { Command } from './command.ts'
import { DATABASE_SETTINGS, withDatabase } from './with-database.ts'

export const migrateCommand: Command = {
  summary: 'Apply pending migrations, and list them',
  details:
    'The service does the same at each start. Stop the services of an earlier version first, because they can’t work on the updated database. Use the role of the service, because it must own the tables: it creates and drops partitions.',
  settings: DATABASE_SETTINGS,
  async run(config, { parameters }) {
    parseParameters(parameters, {})
    const { migrated } = await withDatabase(config, async (database) => database, {
      mayUpdate: true,
    })
    process.stdout.write(
      `${migrated.length === 0 ? 'No migrations are pending.' : migrated.join('\n')}\n`,
    )
    return 0
  },
}
