import type { Config } from '../config.ts'
import { connect } from '../database/connect.ts'
import { migrate } from '../database/migrate.ts'
import { openDatabase } from '../database/open.ts'
import type { Sql } from '../database/sql.ts'
import { type Begin, transactionsOn } from '../database/transactions.ts'
import { StartError } from '../start-error.ts'
import { orAborted } from '../time/or-aborted.ts'

/** The settings that locate the database. */
export const DATABASE_SETTINGS = ['DATABASE_URL', 'DATA_DIR'] as const

/** Time for a command to finish after a signal. */
const INTERRUPTION_TIMEOUT_MS = 10_000

/** A command's access to the database. */
export type CommandDatabase = {
  db: Sql
  begin: Begin
  databaseUrl: string
  /** Names of the migrations that this command applied. */
  migrated: string[]
  /** Aborts when a signal ends the command. */
  interrupted: AbortSignal
}

/**
 * Runs a command's work on the migrated database of the settings. The database is always closed afterwards, also after
 * a signal: an embedded one is stopped unless another process uses it.
 *
 * @param options.mayUpdate applies the migrations that an existing database lacks, and not only those of a new one
 * @throws StartError if the database cannot be used, or is of an earlier version and may not be updated, or a signal
 *   interrupted the work
 */
export async function withDatabase<T>(
  config: Pick<Config, 'databaseUrl' | 'dataDir'>,
  work: (database: CommandDatabase) => Promise<T>,
  { mayUpdate = false }: { mayUpdate?: boolean } = {},
): Promise<T> {
  const interrupted = signalToEnd()
  const opening = openDatabase(config)
  // A signal must wait for an embedded PostgreSQL that is starting, because it must be stopped again.
  const database = await (config.databaseUrl === undefined
    ? opening
    : orAborted(opening, interrupted))
  const { url } = database
  const sql = connect(url, { max: 2 })
  const transactions = transactionsOn(url, 1)
  try {
    const done = async () => {
      interrupted.throwIfAborted()
      const migrated = await migrate(sql, url, mayUpdate ? undefined : refuseUpdate)
      interrupted.throwIfAborted()
      const { begin } = transactions
      return work({ db: sql, begin, databaseUrl: url, migrated, interrupted })
    }
    return await endAfterSignal(done(), interrupted)
  } catch (error) {
    throw await database.explain(error)
  } finally {
    await Promise.allSettled([transactions.end(), sql.end({ timeout: 1 })])
    await database.close()
  }
}

/** Running services of the earlier version can't work on an updated database. */
function refuseUpdate([first]: string[]): never {
  throw new StartError(
    `The database is of an earlier version of Cardstall and lacks the migration ${first}. Stop the services of that version, then start this one or run its command migrate.`,
  )
}

/** Aborts with the first signal that ends a process. npm sends a second one after the terminal's: it changes nothing. */
function signalToEnd(): AbortSignal {
  const ending = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => ending.abort(new StartError('Interrupted.')))
  }
  return ending.signal
}

/** The result of `work`, unless it takes longer than INTERRUPTION_TIMEOUT_MS after a signal. */
async function endAfterSignal<T>(work: Promise<T>, interrupted: AbortSignal): Promise<T> {
  // Abandoned work continues until its connections are closed, and then rejects.
  work.catch(() => {})
  const { promise: abandoned, reject } = Promise.withResolvers<never>()
  const startTimer = () =>
    setTimeout(() => reject(interrupted.reason), INTERRUPTION_TIMEOUT_MS).unref()
  if (interrupted.aborted) startTimer()
  else interrupted.addEventListener('abort', startTimer, { once: true })
  return Promise.race([work, abandoned])
}
