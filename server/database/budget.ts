import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * The time that one request may wait for the database, all of its statements and transactions together. Statements
 * that run side by side count once.
 */
export type Budget = {
  leftMs: number
  /** Statements under way, and since when there are any. */
  running: number
  since: number
  /** The request has been answered: work it has set off goes on with time of its own. */
  isOver: boolean
}

const current = new AsyncLocalStorage<Budget>()

export const newBudget = (ms: number): Budget => ({
  leftMs: ms,
  running: 0,
  since: 0,
  isOver: false,
})

/** Runs `work`, and all that it sets off, on this budget. */
export const withBudget = <T>(budget: Budget, work: () => T): T => current.run(budget, work)

/** The budget of the request that this is done for; undefined for jobs. */
export function currentBudget(): Budget | undefined {
  const budget = current.getStore()
  return budget?.isOver ? undefined : budget
}

/** Begins to wait: returns the milliseconds that are left. Ends with `endWait`. */
export function beginWait(budget: Budget, now: number): number {
  if (budget.running++ === 0) budget.since = now
  return budget.leftMs - (now - budget.since)
}

export function endWait(budget: Budget, now: number): void {
  if (--budget.running === 0) budget.leftMs -= now - budget.since
}
