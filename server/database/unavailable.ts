import postgres from 'postgres'

/**
 * The database could not do its work: it is away, frozen, overloaded, or took longer than our own limit. A write that
 * was sent may have happened or not.
 */
export class DatabaseUnavailable extends Error {
  override name = 'DatabaseUnavailable'
  readonly code = 'DATABASE_UNAVAILABLE'
}

/** PostgreSQL's codes for a statement that may succeed when it is sent again, by class or in full. */
const TRANSIENT_STATES = [
  '08', // connection exception
  '53', // insufficient resources: disk full, out of memory, too many connections
  '57P01', // admin shutdown
  '57P02', // crash shutdown
  '57P03', // cannot connect now: starting, stopping or recovering
  '57P05', // idle session timeout
  '57014', // query canceled: statement_timeout
  '55P03', // lock not available: lock_timeout
  '25P03', // idle in transaction session timeout
  '25P04', // transaction timeout
  '40001', // serialization failure
  '40P01', // deadlock detected
  '58030', // I/O error
]

/** The client's own codes for a connection that is gone or never came up. */
const CLIENT_CODES = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'CONNECT_TIMEOUT',
])

/** Node's codes for a socket that failed. */
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
 * Whether an error says that the database is unavailable for now, and nothing about the statement or its data: the
 * caller may try again later. Errors of other sockets than the database's are never among them.
 */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true
  if (!(error instanceof Error)) return false
  const { code } = error as NodeJS.ErrnoException
  if (code === undefined) return false
  if (error instanceof postgres.PostgresError) {
    return TRANSIENT_STATES.some((state) => code.startsWith(state))
  }
  // The client attaches the statement to every error of its socket; other sockets' errors have none.
  return CLIENT_CODES.has(code) || (SOCKET_CODES.has(code) && 'query' in error)
}

/** Whether the connection that a statement failed on is of no more use: it's closed, or the server closes it. */
export function isLoss(error: unknown): boolean {
  if (error instanceof postgres.PostgresError) return /^(57P|08|25P03|25P04)/.test(error.code)
  return isUnavailable(error)
}
