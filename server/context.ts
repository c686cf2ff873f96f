import type { Logger } from 'pino'
import type { Carrier } from './carriers/carrier.ts'
import type { CatalogReader } from './catalog/reader.ts'
import type { Config } from './config.ts'
import type { Db } from './database/connect.ts'
import type { Notices } from './database/notices.ts'
import { type Begin, savepoint, type TransactionMode } from './database/transactions.ts'
import type { FileStore } from './files/file-store.ts'
import type { KeyCache } from './keys/key-cache.ts'
import type { RateLimiter } from './limits/rate-limit.ts'
import type { Metrics } from './metrics.ts'
import type { Network } from './outbound/network.ts'
import { heldBack, type Wakes } from './queue/wakes.ts'
import type { Clock } from './sandbox/clock.ts'

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'fatal'>

/** What a verb needs to do its work, passed to it; there are no globals. */
export type Context = {
  config: Config
  log: Log
  /** The pool, or inside `inTransaction` the transaction: a verb can't write beside it by mistake. */
  db: Db
  /** Begins a transaction; called through `inTransaction`. */
  begin: Begin
  /** Where that database is, for a connection of one's own: locks and listening. */
  databaseUrl: string
  clock: Clock
  /** The time that users see, in UTC. The sandbox can move it ahead; nothing else may ask for the time of a fact. */
  now: () => Date
  catalog: CatalogReader
  keys: KeyCache
  limiter: RateLimiter
  notices: Notices
  /** Wakes the workers of this process: for verbs that write work. */
  wakes: Wakes
  /** Where photos and labels are kept. */
  files: FileStore
  /** Who sells platform labels; undefined where none is connected. No call of it belongs into a transaction. */
  carrier: Carrier | undefined
  /** The world that addresses of others are in. Only what's in outbound/ touches it. */
  network: Network
  metrics: Metrics
  /** Becomes ready once, when the first start's import is done and the catalog is in memory. */
  readiness: { ready: boolean }
}

/** The least that a transaction needs. What wakes workers inside of it does so once it's committed. */
type Transactional = Pick<Context, 'db' | 'begin'> & Partial<Pick<Context, 'wakes'>>

/**
 * Runs `work` in one transaction: all of its changes, or none. No network, carrier or file may be touched inside: after 10 s
 * it's given up, and throws. Within a transaction it's a part of that one, and still all or nothing in itself.
 */
export function inTransaction<C extends Transactional, T>(
  ctx: C,
  work: (ctx: C) => Promise<T>,
): Promise<T> {
  return transact(ctx, work, 'write')
}

/**
 * The same for what takes longer than a transaction may. Incremental syncs would miss what it writes, so it's for the
 * bundled catalog's first import alone, which nobody syncs and which is all or nothing; a test refuses it elsewhere.
 */
export function inUnboundedTransaction<C extends Transactional, T>(
  ctx: C,
  work: (ctx: C) => Promise<T>,
): Promise<T> {
  return transact(ctx, work, 'unboundedWrite')
}

async function transact<C extends Transactional, T>(
  ctx: C,
  work: (ctx: C) => Promise<T>,
  mode: TransactionMode,
): Promise<T> {
  const later = ctx.wakes && heldBack(ctx.wakes)
  const answer = await ctx.begin(
    (db) =>
      work({
        ...ctx,
        db,
        begin: (part) => savepoint(db, part),
        ...(later && { wakes: later.wakes }),
      }),
    mode,
  )
  later?.release()
  return answer
}
