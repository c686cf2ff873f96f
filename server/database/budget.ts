import { AsyncLocalStorage } from 'node:async_hooks'

/** The time that one request may wait for the database in total. Concurrent statements count once. */
export type Budget = {
  leftMs: number
  /** Statements in flight. */
  running: number
  /** The seller whose request it is, until the response is sent. All requests of a seller share connections. */
  accountId?: number | undefined
  /** Start of the current period with statements in flight. */
  since: number
  /** The response was sent, or the shared work has ended: what it started in the background is no longer limited. */
  isOver: boolean
}

const current = new AsyncLocalStorage<Budget>()

/** A budget of this many milliseconds, of which nothing has been used. */
export const newBudget = (ms: number): Budget => ({
  leftMs: ms,
  running: 0,
  since: 0,
  isOver: false,
})

/** Runs `work` and everything that it starts on this budget. */
export const withBudget = <T>(budget: Budget, work: () => T): T => current.run(budget, work)

/** The budget of the current request; undefined in jobs. */
export function currentBudget(): Budget | undefined {
  const budget = current.getStore()
  return budget?.isOver ? undefined : budget
}

/** The seller of the current request, also of one without a common time limit. */
export const currentAccount = (): number | undefined => current.getStore()?.accountId

/** Starts a wait, which `endWait` must end. Returns the remaining milliseconds. */
export function beginWait(budget: Budget, now: number): number {
  if (budget.running++ === 0) budget.since = now
  return budget.leftMs - (now - budget.since)
}

/** Ends a wait. Concurrent waits use the budget once. */
export function endWait(budget: Budget, now: number): void {
  if (--budget.running === 0) budget.leftMs -= now - budget.since
}
