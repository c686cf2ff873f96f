import { withTimeout } from '../time/with-timeout.ts'
import { type Budget, beginWait, currentBudget, endWait, newBudget, withBudget } from './budget.ts'
import { WRITE_LIMIT_MS } from './connect.ts'
import { tookTooLong } from './unavailable.ts'

/** An item that is handled together with those of other callers, and its caller. */
export type Waiter<Item, Result> = {
  item: Item
  leftMs: number
  since: number
  resolve(result: Result): void
  reject(error: unknown): void
}

/** The result of an item that `add` gives to a queue. The caller's budget counts the wait. */
export const waitFor = <Item, Result>(
  item: Item,
  add: (waiter: Waiter<Item, Result>) => void,
): Promise<Result> =>
  new Promise((resolve, reject) => {
    const budget: Budget | undefined = currentBudget()
    const since = performance.now()
    const leftMs = budget ? beginWait(budget, since) : WRITE_LIMIT_MS
    const ended = () => {
      if (budget) endWait(budget, performance.now())
    }
    add({
      item,
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

/**
 * Runs `work` within the shortest of the waiters' remaining times. Statements that it sends after its end have no limit.
 *
 * @param accountId the share of connections that it belongs to
 */
export async function within<Item, Result, T>(
  waiters: Waiter<Item, Result>[],
  work: () => Promise<T>,
  accountId?: number,
): Promise<T> {
  const budget = { ...newBudget(Math.min(...waiters.map(leftOf))), accountId }
  try {
    return await withBudget(budget, work)
  } finally {
    budget.isOver = true
  }
}

/** A timer can be a millisecond early. */
const MIN_LEFT_MS = 2

/** Whether a waiter's time for the database is over. */
export const isOver = <Item, Result>(waiter: Waiter<Item, Result>): boolean =>
  leftOf(waiter) < MIN_LEFT_MS

/** The waiters whose time is over, and those that have time left. */
export function splitByTime<Item, Result>(waiters: Waiter<Item, Result>[]) {
  const { over = [], left = [] } = Object.groupBy(waiters, (one) => (isOver(one) ? 'over' : 'left'))
  return { over, left }
}

/** The remaining milliseconds of a waiter. */
const leftOf = <Item, Result>({ leftMs, since }: Waiter<Item, Result>) =>
  leftMs - (performance.now() - since)

/** The result of work that several callers share, which may have begun earlier. The caller's budget limits its own wait. */
export async function waitForShared<T>(work: Promise<T>): Promise<T> {
  const budget = currentBudget()
  if (!budget) return work
  const leftMs = beginWait(budget, performance.now())
  const fail = () => {
    throw tookTooLong()
  }
  try {
    return await withTimeout(leftMs, work, fail)
  } finally {
    endWait(budget, performance.now())
  }
}
