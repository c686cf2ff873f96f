import type { Log } from '../log.ts'
import type { Db } from './sql.ts'

/**
 * Warns if the server did not get the settings of our sessions, as behind a pooler that ignores them: then it ends no slow
 * statement, and the settings of the database or role apply.
 */
export async function warnOfPooler({ db, log }: { db: Db; log: Pick<Log, 'warn'> }): Promise<void> {
  const [row] = await db<{ source: string }[]>`
    select source from pg_settings where name = 'statement_timeout'
  `
  if (row!.source === 'client') return
  log.warn(
    'the database did not get the settings of our sessions: DATABASE_URL seems to name a pooler that ignores them (docs/configuration.md#poolers)',
  )
}
