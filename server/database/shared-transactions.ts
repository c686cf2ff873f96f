import postgres from 'postgres'
import { type Budget, beginWait, currentBudget, endWait, newBudget, withBudget } from './budget.ts'
import { WRITE_LIMIT_MS } from './connect.ts'
import { DatabaseUnavailable, isConnectionLoss } from './unavailable.ts'

/**
 * The outcome of one item: its result, the error to throw to its caller, or `alone` if the work would have waited for
 * another transaction. An item that is alone in its transaction must not have the outcome `alone`.
 */
export type Outcome<Result> = { result: Result } | { error: Error } | 'alone'

/** Handles items in one transaction, each as if it were alone, and returns their outcomes in order. */
export type SharedWork<Tx, Item, Result> = (tx: Tx, items: Item[]) => Promise<Outcome<Result>[]>

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
/** One transaction is prepared while another one is committed. More of them would have fewer items each. */
const MAX_TRANSACTIONS = 2
/** Items of one work that may wait; further ones fail at once. */
const MAX_WAITING = 1_000

type Waiter<Item, Result> = {
  item: Item
  budget: Budget | undefined
  leftMs: number
  since: number
  resolve(result: Result): void
  reject(error: unknown): void
}

/**
 * Shares transactions between concurrent callers: locks, statements and the commit cost little more for many items than
 * for one. An item waits only while other items are being written, never for further callers.
 *
 * No item can fail another one. If the database rejects a statement, each item is handled again in a transaction of its
 * own; so is an item that would have made all others wait for a lock.
 *
 * @param transact runs work in a new transaction
 */
export function sharedTransactions<Tx>(
  transact: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>,
): Share<Tx> {
  // biome-ignore lint/suspicious/noExplicitAny: each work is mapped to the queue of its own items
  const queues = new Map<SharedWork<Tx, any, any>, (waiter: Waiter<any, any>) => void>()
  return (work, item) =>
    new Promise((resolve, reject) => {
      let add = queues.get(work)
      if (!add) {
        add = openQueue(transact, work)
        queues.set(work, add)
      }
      const budget = currentBudget()
      const since = performance.now()
      const leftMs = budget ? beginWait(budget, since) : WRITE_LIMIT_MS
      const ended = () => {
        if (budget) endWait(budget, performance.now())
      }
      add({
        item,
        budget,
        leftMs,
        since,
        resolve(result) {
          ended()
          resolve(result)
        },
        reject(error) {
          ended()
          reject(error)
        },
      })
    })
}

/** Handles an item in the current transaction. */
export async function handleAlone<Tx, Item, Result>(
  tx: Tx,
  work: SharedWork<Tx, Item, Result>,
  item: Item,
): Promise<Result> {
  const [outcome] = await work(tx, [item])
  if (outcome === undefined || outcome === 'alone') throw new Error('The item has no outcome.')
  if ('error' in outcome) throw outcome.error
  return outcome.result
}

function openQueue<Tx, Item, Result>(
  transact: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>,
  work: SharedWork<Tx, Item, Result>,
): (waiter: Waiter<Item, Result>) => void {
  let waiting: Waiter<Item, Result>[] = []
  let running = 0

  const handle = async (waiters: Waiter<Item, Result>[]): Promise<void> => {
    if (waiters.length === 1) return alone(waiters[0]!)
    try {
      const items = waiters.map(({ item }) => item)
      const outcomes = await within(waiters, () => transact((tx) => work(tx, items)))
      for (const [index, waiter] of waiters.entries()) {
        const outcome = outcomes[index]!
        if (outcome === 'alone') void alone(waiter)
        else if ('error' in outcome) waiter.reject(outcome.error)
        else waiter.resolve(outcome.result)
      }
    } catch (error) {
      for (const waiter of waiters) {
        if (isRejection(error)) void alone(waiter)
        else waiter.reject(error)
      }
    }
  }

  const alone = (waiter: Waiter<Item, Result>): Promise<void> =>
    within([waiter], () => transact((tx) => handleAlone(tx, work, waiter.item))).then(
      waiter.resolve,
      waiter.reject,
    )

  const next = async (): Promise<void> => {
    while (waiting.length > 0) {
      const waiters = waiting.slice(0, MAX_ITEMS)
      waiting = waiting.slice(MAX_ITEMS)
      await handle(waiters)
    }
    running--
  }

  return (waiter) => {
    if (waiting.length >= MAX_WAITING) {
      waiter.reject(new DatabaseUnavailable('Too many writes are waiting for the database.'))
      return
    }
    waiting.push(waiter)
    if (running === MAX_TRANSACTIONS) return
    running++
    // After the other requests that have arrived by now.
    setImmediate(() => void next())
  }
}

/** Runs `work` within the shortest of the waiters' remaining times. */
function within<T>(waiters: Waiter<never, never>[] | Waiter<unknown, unknown>[], work: () => T): T {
  const now = performance.now()
  const left = waiters.map(({ leftMs, since }) => leftMs - (now - since))
  return withBudget(newBudget(Math.min(...left)), work)
}

/** Whether the server has rejected a statement, and so has rolled back the whole transaction. */
const isRejection = (error: unknown) =>
  error instanceof postgres.PostgresError && !isConnectionLoss(error)
