import postgres from 'postgres'
import { isOver, splitByTime, type Waiter, waitFor, within } from './shared-work.ts'
import { DatabaseUnavailable, isConnectionLoss, isUnavailable, tookTooLong } from './unavailable.ts'

/**
 * The outcome of one item: its result, the error to throw to its caller, or `locked` if it would have to wait for another
 * transaction.
 */
export type Outcome<Result> = { result: Result } | { error: Error } | 'locked'

/**
 * Handles items in one transaction, each as if it were alone, and returns their outcomes in order.
 *
 * @param waits whether to wait for locks; then no outcome is `locked`
 */
export type SharedWork<Tx, Item, Result> = (
  tx: Tx,
  items: Item[],
  waits: boolean,
) => Promise<Outcome<Result>[]>

/**
 * Handles an item together with those of concurrent callers of the same work, in one transaction; inside a transaction,
 * in that. The result is returned after the commit.
 */
export type Share<Tx> = <Item, Result>(
  work: SharedWork<Tx, Item, Result>,
  item: Item,
) => Promise<Result>

/** Items of one transaction. Its locks are held until all of them are written. */
const MAX_ITEMS = 32
/** Items of one work that may wait; further ones fail at once. */
const MAX_WAITING = 1_000
/**
 * The transactions of all works that wait for locks share connections as if they were an account, next to the account
 * that holds the locks. The ids of accounts begin with 1.
 */
const LOCKED_ITEMS = 0

/**
 * Shares transactions between concurrent callers: locks, statements and the commit cost little more for many items than
 * for one. An item waits only while other items are being written, never for further callers. Each work has one
 * transaction at a time, because two of them would lock each other out of the same rows.
 *
 * The items whose rows another transaction has locked are handled in a second transaction, which waits for the locks and
 * delays no other items. If the database rejects a statement, each item is handled again in a transaction of its own,
 * so that no item can fail another one. If the time of an item ends the transaction, the others are handled again.
 *
 * @param transact runs work in a new transaction
 */
export function sharedTransactions<Tx>(
  transact: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>,
): Share<Tx> {
  // biome-ignore lint/suspicious/noExplicitAny: each work is mapped to the queue of its own items
  const queues = new Map<SharedWork<Tx, any, any>, (waiter: Waiter<any, any>) => void>()
  return (work, item) =>
    waitFor(item, (waiter) => {
      const open = () => openQueue(transact, work, openQueue(transact, work))
      queues.getOrInsertComputed(work, open)(waiter)
    })
}

/** Handles an item in the current transaction. */
export async function handleAlone<Tx, Item, Result>(
  tx: Tx,
  work: SharedWork<Tx, Item, Result>,
  item: Item,
): Promise<Result> {
  const [outcome] = await work(tx, [item], true)
  if (outcome === undefined || outcome === 'locked') throw new Error('The item has no outcome.')
  if ('error' in outcome) throw outcome.error
  return outcome.result
}

/** @param addLocked adds an item whose rows are locked to another queue; if absent, this queue waits for the locks */
function openQueue<Tx, Item, Result>(
  transact: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>,
  work: SharedWork<Tx, Item, Result>,
  addLocked?: (waiter: Waiter<Item, Result>) => void,
): (waiter: Waiter<Item, Result>) => void {
  let waiting: Waiter<Item, Result>[] = []
  let isRunning = false

  const handle = async (waiters: Waiter<Item, Result>[]): Promise<void> => {
    let mayBeWritten = false
    try {
      const items = waiters.map(({ item }) => item)
      const write = async (tx: Tx) => {
        const outcomes = await work(tx, items, !addLocked)
        mayBeWritten = true
        return outcomes
      }
      const account = addLocked ? undefined : LOCKED_ITEMS
      const outcomes = await within(waiters, () => transact(write), account)
      for (const [index, waiter] of waiters.entries()) {
        const outcome = outcomes[index]!
        if (outcome === 'locked') addLocked?.(waiter)
        else if ('error' in outcome) waiter.reject(outcome.error)
        else waiter.resolve(outcome.result)
      }
    } catch (error) {
      // The time of one item may have ended the transaction of all.
      const isLate = !mayBeWritten && isUnavailable(error) && waiters.some(isOver)
      for (const waiter of waiters) {
        if (isRejection(error) && waiters.length > 1) void handleAgain(waiter)
        else if (isLate && !isOver(waiter)) waiting.push(waiter)
        else waiter.reject(error)
      }
    }
  }

  const handleAgain = (waiter: Waiter<Item, Result>): Promise<void> =>
    within([waiter], () => transact((tx) => handleAlone(tx, work, waiter.item)), LOCKED_ITEMS).then(
      waiter.resolve,
      waiter.reject,
    )

  const run = async (): Promise<void> => {
    while (waiting.length > 0) {
      const waiters = waiting.slice(0, MAX_ITEMS)
      waiting = waiting.slice(MAX_ITEMS)
      const { over, left } = splitByTime(waiters)
      for (const waiter of over) waiter.reject(tookTooLong())
      if (left.length > 0) await handle(left)
    }
    isRunning = false
  }

  return (waiter) => {
    if (waiting.length >= MAX_WAITING) {
      waiter.reject(new DatabaseUnavailable('Too many writes are waiting for the database.'))
      return
    }
    waiting.push(waiter)
    if (isRunning) return
    isRunning = true
    // After the other requests that have arrived by now.
    setImmediate(() => void run())
  }
}

/** Whether the server has rejected a statement, and so has rolled back the whole transaction. */
const isRejection = (error: unknown) =>
  error instanceof postgres.PostgresError && !isConnectionLoss(error)
