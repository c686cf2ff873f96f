import { splitByTime, type Waiter, waitFor, within } from './shared-work.ts'
import type { Db } from './sql.ts'
import { isUnavailable } from './unavailable.ts'

type Tx = { db: Db }

/** Reads several items, each as if it were alone, and returns their results in order. */
export type SharedRead<Ctx extends Tx, Item, Result> = (
  ctx: Ctx,
  items: Item[],
) => Promise<Result[]>

/** Items of one statement, so that no item delays many others. */
export const MAX_ITEMS = 16

// biome-ignore lint/suspicious/noExplicitAny: each read is mapped to the queue of its own items
type Queues = Map<SharedRead<any, any, any>, Waiter<any, any>[]>

const queuesOf = new WeakMap<Db, Queues>()

/**
 * Reads an item with the items of the other requests that have arrived by now: sending a statement, waking the other
 * process and reading the response cost as much for many items as for one. An item never waits for further ones or for
 * the end of an earlier statement, and the statement's snapshot is newer than all of its requests.
 *
 * @param read must bound the size of an item, and must not fail for one item alone
 */
export const readTogether = <Ctx extends Tx, Item, Result>(
  ctx: Ctx,
  read: SharedRead<Ctx, Item, Result>,
  item: Item,
): Promise<Result> =>
  waitFor(item, (waiter: Waiter<Item, Result>) => {
    const queues = queuesOf.getOrInsertComputed(ctx.db, () => new Map())
    const waiting = queues.get(read)
    if (waiting && waiting.length < MAX_ITEMS) {
      waiting.push(waiter)
      return
    }
    const first = [waiter]
    queues.set(read, first)
    setImmediate(() => {
      if (queues.get(read) === first) queues.delete(read)
      void readAll(ctx, read, first)
    })
  })

async function readAll<Ctx extends Tx, Item, Result>(
  ctx: Ctx,
  read: SharedRead<Ctx, Item, Result>,
  waiters: Waiter<Item, Result>[],
): Promise<void> {
  try {
    const items = waiters.map(({ item }) => item)
    const results = await within(waiters, () => read(ctx, items))
    for (const [index, waiter] of waiters.entries()) waiter.resolve(results[index]!)
  } catch (error) {
    const { over, left } = splitByTime(waiters)
    // The time of one request may have ended the read of all.
    const readsAgain = isUnavailable(error) && over.length > 0 && left.length > 0
    for (const waiter of readsAgain ? over : waiters) waiter.reject(error)
    if (readsAgain) await readAll(ctx, read, left)
  }
}
