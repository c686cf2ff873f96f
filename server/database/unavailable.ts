import postgres from 'postgres'
import type { Log } from '../log.ts'

/**
 * The database is unreachable, frozen or overloaded, or exceeded this process's time limit. A write that was sent may
 * have happened or not.
 */
export class DatabaseUnavailable extends Error {
  override name = 'DatabaseUnavailable'
  readonly code = 'DATABASE_UNAVAILABLE'
}

/** The error of a statement, or of a wait for one, whose time is over. */
export const tookTooLong = () => new DatabaseUnavailable('The database did not respond in time.')

export const connectionsClosed = () =>
  new DatabaseUnavailable('The connections to the database are closed.')

/** SQLSTATE of a server whose connections are all in use. */
export const TOO_MANY_CONNECTIONS = '53300'

/** SQLSTATE classes and codes of statements that may succeed when they are retried. */
const TRANSIENT_STATES = [
  '08', // connection exception
  '53', // insufficient resources: disk full, out of memory, too many connections
  '57P01', // admin shutdown
  '57P02', // crash shutdown
  '57P03', // cannot connect now: starting, stopping or recovering
  '57P05', // idle session timeout
  '57014', // query canceled: statement_timeout
  '55P03', // lock not available: lock_timeout
  '25006', // read-only transaction: the server has become a standby
  '25P03', // idle in transaction session timeout
  '25P04', // transaction timeout
  '40001', // serialization failure
  '40P01', // deadlock detected
  '58030', // I/O error
]

/** The client's codes for a connection that was closed or could not be opened. */
const CLIENT_CODES = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'CONNECT_TIMEOUT',
])

/** Node's codes for a failed socket. */
const SOCKET_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
])

/**
 * Whether an error means that the database is temporarily unavailable, so that a retry may succeed. False for errors of
 * the statement or its data, and of sockets to other servers.
 */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true
  if (!(error instanceof Error)) return false
  const { code } = error as NodeJS.ErrnoException
  if (code === undefined) return false
  if (error instanceof postgres.PostgresError) {
    return TRANSIENT_STATES.some((state) => code.startsWith(state))
  }
  // The client attaches the statement as `query` to every error of its socket; other errors have none.
  return CLIENT_CODES.has(code) || (SOCKET_CODES.has(code) && 'query' in error)
}

/** Whether the error means that the statement's connection is closed, or that the server is about to close it. */
export function isConnectionLoss(error: unknown): boolean {
  if (error instanceof postgres.PostgresError) return /^(57P|08|25P03|25P04)/.test(error.code)
  return isUnavailable(error)
}

/** Whether the server has become a standby. New connections may reach the new primary server behind the same name. */
export const isReadOnly = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.code === '25006'

/** Whether a statement failed only because an earlier one has aborted its transaction. */
export const isAborted = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.code === '25P02'

/** Whether PostgreSQL has rolled back the transaction, because it and others waited for each other. */
export const isDeadlock = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.code === '40P01'

/** Minimum time between two warnings: in an outage all requests and jobs fail for the same reason. */
const WARN_INTERVAL_MS = 5_000

/**
 * Returns a function that logs a warning about an outage, throttled. A deadlock is a fault of the program that happens
 * while the database is up, so each one has its own line.
 */
export function outageLog(
  log: Pick<Log, 'warn'>,
): (details: { err: unknown; [field: string]: unknown }) => void {
  let warned = Number.NEGATIVE_INFINITY
  return (details) => {
    if (isDeadlock(details.err)) return log.warn(details, 'a deadlock ended a transaction')
    if (performance.now() - warned < WARN_INTERVAL_MS) return
    warned = performance.now()
    log.warn(details, 'the database is unavailable')
  }
}
