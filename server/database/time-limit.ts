import type { TransactionConnection } from './transaction-connection.ts'
import { DatabaseUnavailable } from './unavailable.ts'

/** The time a transaction has, from `start` until its COMMIT is sent; nothing cuts that. */
export type TimeLimit = {
  /** What to send along with BEGIN to a server that can keep the time, too. */
  onServer: string
  start(): void
  /** The last moment before COMMIT. */
  check(): void
  stop(): void
}

export const NO_LIMIT: TimeLimit = { onServer: '', start() {}, check() {}, stop() {} }

/**
 * How much later than us the server gives up. It needs to only when this process stands still, or COMMIT is long on
 * its way.
 */
const SERVER_LATER_MS = 1_000

/** Gives the lane up when the time has run out. Real time: it's about what the database sees, not users. */
export function limitOn(connection: Pick<TransactionConnection, 'giveUp'>, ms: number): TimeLimit {
  let timer: NodeJS.Timeout | undefined
  let end = Number.POSITIVE_INFINITY
  const giveUp = () => {
    connection.giveUp(
      new DatabaseUnavailable(`The transaction was given up: it took longer than ${ms / 1000} s.`),
    )
  }
  return {
    onServer: `; set local transaction_timeout = ${ms + SERVER_LATER_MS}`,
    start() {
      end = performance.now() + ms
      timer = setTimeout(giveUp, ms)
      timer.unref()
    },
    check() {
      clearTimeout(timer)
      // In a busy process the timer may not have had its turn.
      if (performance.now() >= end) giveUp()
    },
    stop: () => clearTimeout(timer),
  }
}
