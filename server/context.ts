import type { Config } from './config.ts'
import type { Share } from './database/shared-transactions.ts'
import type { Signal } from './database/signals.ts'
import type { Db } from './database/sql.ts'
import type { Begin } from './database/transactions.ts'
import type { Log } from './log.ts'

/**
 * The context that every verb receives as its first argument. A verb that needs more of the service (see service.ts) says
 * so in its signature: `Context & { files: FileStore }`.
 */
export type Context = {
  config: Config
  log: Log
  /** The pool, or inside `inTransaction` the transaction: a verb cannot write outside of it by mistake. */
  db: Db
  /** Begins a transaction; called through `inTransaction`. */
  begin: Begin
  /** Handles an item together with those of concurrent callers, in one transaction. */
  share: Share<Context>
  /** Current time for every fact that users see, in UTC. The sandbox can move it ahead. */
  now: () => Date
  /** Notifies caches and workers of a change, inside a transaction after the commit. */
  signal: Signal
}
