import type { TransactionConnection } from './transaction-connection.ts'
import { DatabaseUnavailable } from './unavailable.ts'

/** A time limit on a transaction, from `start` until its COMMIT is sent. A COMMIT under way is never interrupted. */
export type TimeLimit = {
  /** SQL appended to BEGIN, so that a server that supports it (PostgreSQL 17) enforces the limit too. */
  onServer: string
  start(): void
  /** Must be called right before COMMIT: aborts the transaction if its time is over. */
  check(): void
  stop(): void
}

const onServer = (ms: number) => `; set local transaction_timeout = ${ms}`

/** The server's limit of the database or role does not apply either. */
export const NO_LIMIT: TimeLimit = { onServer: onServer(0), start() {}, check() {}, stop() {} }

/** The server's limit is longer: it only matters when this process is paused or COMMIT is delayed on the network. */
const SERVER_MARGIN_MS = 1_000

/** Aborts the connection when the time limit (real time) is over. */
export function limitOn(connection: Pick<TransactionConnection, 'abort'>, ms: number): TimeLimit {
  let timer: NodeJS.Timeout | undefined
  let end = Number.POSITIVE_INFINITY
  const abort = () => {
    connection.abort(
      new DatabaseUnavailable(`The transaction was aborted: it took longer than ${ms / 1000} s.`),
    )
  }
  return {
    onServer: onServer(ms + SERVER_MARGIN_MS),
    start() {
      end = performance.now() + ms
      timer = setTimeout(abort, ms)
      timer.unref()
    },
    check() {
      clearTimeout(timer)
      // In a busy process the timer may not have fired yet.
      if (performance.now() >= end) abort()
    },
    stop: () => clearTimeout(timer),
  }
}
