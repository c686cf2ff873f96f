import { handleAlone, type Share } from './shared-transactions.ts'
import type { Signal } from './signals.ts'
import type { Db } from './sql.ts'
import { type Begin, savepoint, type TransactionMode } from './transactions.ts'

/** The members of a context that a transaction replaces. */
type Transactional = {
  /** The pool, or inside `inTransaction` the transaction: a verb cannot write outside of it by mistake. */
  db: Db
  begin: Begin
  /** Inside a transaction, signals are sent after the commit. */
  signal?: Signal
  /** Inside a transaction, items are handled in it. */
  // biome-ignore lint/suspicious/noExplicitAny: the items are handled with the caller's own kind of context
  share?: Share<any>
}

/**
 * Runs `work` in one transaction: all of its changes are committed, or none. No network, carrier or file I/O may
 * happen inside: after 10 s the transaction is rolled back, and this throws. Within a transaction it is a savepoint.
 */
export function inTransaction<C extends Transactional, T>(
  ctx: C,
  work: (ctx: C) => Promise<T>,
): Promise<T> {
  return transact(ctx, work, 'write')
}

/**
 * The same without the time limit. Incremental syncs would miss the rows that it writes, so only the first import of
 * the bundled catalog may use it, before any client syncs. A test refuses every other use.
 */
export function inUnboundedTransaction<C extends Transactional, T>(
  ctx: C,
  work: (ctx: C) => Promise<T>,
): Promise<T> {
  return transact(ctx, work, 'unboundedWrite')
}

/** The same context with its clock stopped now: rows and events of one change have the same time. */
export function atOneTime<C extends { now: () => Date }>(ctx: C): C {
  const now = ctx.now()
  return { ...ctx, now: () => now }
}

async function transact<C extends Transactional, T>(
  ctx: C,
  work: (ctx: C) => Promise<T>,
  mode: TransactionMode,
): Promise<T> {
  let release: (() => Promise<unknown> | undefined) | undefined
  const result = await ctx.begin((db) => {
    const deferred = ctx.signal?.deferUntilCommit(db)
    release = deferred?.release
    const tx: C = {
      ...ctx,
      db,
      begin: (nested) => savepoint(db, nested),
      ...(deferred && { signal: deferred.signal }),
      share: (shared, item) => handleAlone(tx, shared, item),
    }
    return work(tx)
  }, mode)
  const told = release?.()
  if (told) await told
  return result
}
