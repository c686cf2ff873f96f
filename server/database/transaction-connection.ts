import { connectAlone, connectSingle } from './connect.ts'
import type { Sql } from './sql.ts'
import { handlerOf, observe, type Statement, withHandler } from './statements.ts'
import { DatabaseUnavailable, isAborted, isConnectionLoss } from './unavailable.ts'

/** A connection that runs one transaction at a time. It is discarded once it is closed. */
export type TransactionConnection = {
  readonly sql: Sql
  /** Resolves when the connection is open. Statements sent earlier could wait behind one that fails. */
  readonly ready: Promise<Session>
  readonly isReady: boolean
  /** The reason, once the connection is closed. */
  readonly closed: Error | undefined
  /**
   * The outcome of the work, or `closed` if the connection is closed before: the client does not always reject its pending
   * statements then. A connection has one work at a time, and keeps nothing of it.
   */
  unlessClosed<T>(work: Promise<T>): Promise<T>
  /**
   * Sends COMMIT.
   *
   * @throws the error of the statement that has aborted the transaction, also if the work has ignored it
   */
  commit(): Promise<void>
  /**
   * Closes the connection, and has the server terminate its session, unless it commits. The termination would end a wait
   * for a synchronous standby, and make a change visible that a failover could lose.
   */
  abort(reason: Error): void
  close(): void
}

/** The server's end of a connection. */
export type Session = { pid: number; serverStartedAt: string; limitsTransactions: boolean }

/** Reactions to a server that does not respond. */
type Silence = {
  /** A statement without a response for this long closes the connection. */
  silenceMs: number
  /** A statement without a response for this long makes the database suspect. */
  suspectMs: number
  suspect(): void
  answered(): void
  /** A session was left alone, because it commits. */
  leftCommitting(session: Session): void
}

/** Opens a connection. `ready` tells whether that succeeds. */
export function openTransactionConnection(url: string, silence: Silence): TransactionConnection {
  const { silenceMs, suspectMs, suspect, answered, leftCommitting } = silence
  let closed: Error | undefined
  // A promise for all works would keep the callers of each, as long as the connection is open.
  let failWork: ((reason: Error) => void) | undefined
  let server: Session | undefined
  let isCommitting = false
  const client = connectSingle(url, () =>
    markClosed(new DatabaseUnavailable('The connection was lost during a transaction.')),
  )
  const watch = watchSilence(client, suspectMs, answered, (silentMs) => {
    suspect()
    if (silentMs >= silenceMs)
      connection.abort(new DatabaseUnavailable('The database did not respond.'))
  })
  const { sql } = watch
  const markClosed = (reason: Error) => {
    closed ??= reason
    watch.stop()
    failWork?.(closed)
  }
  /** From then on, the server rejects writes outside of transactions. */
  const identify = async (): Promise<Session> => {
    const rows = await client<Session[]>`
      select
        pg_backend_pid() as pid,
        extract(epoch from pg_postmaster_start_time())::text as "serverStartedAt",
        current_setting('server_version_num')::int >= 170000 as "limitsTransactions",
        set_config('default_transaction_read_only', 'on', false)
    `
    server = rows[0]!
    return server
  }
  const ready = identify()
  ready.catch(() => {})
  const close = () => {
    watch.stop()
    void client.end({ timeout: 0 }).catch(() => {})
  }

  const connection: TransactionConnection = {
    sql,
    ready,
    get isReady() {
      return server !== undefined
    },
    get closed() {
      return closed
    },
    async unlessClosed<T>(work: Promise<T>) {
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      failWork = reject
      if (closed) reject(closed)
      work.then(resolve, reject)
      try {
        return await promise
      } finally {
        failWork = undefined
      }
    },
    async commit() {
      isCommitting = true
      try {
        const { command } = await sql.unsafe('commit')
        // PostgreSQL responds with ROLLBACK to the COMMIT of a transaction in which a statement failed.
        if (command !== 'COMMIT') throw watch.clearedFailure ?? new Error('The commit was refused.')
      } finally {
        isCommitting = false
      }
    },
    abort(reason) {
      if (closed) return
      markClosed(reason)
      close()
      if (!server) return
      if (isCommitting) leftCommitting(server)
      else void terminate(url, server.pid)
    },
    close,
  }
  return connection
}

/**
 * Wraps the client to watch its statements. A statement that fails because another one has aborted the transaction gets
 * the error of that one.
 *
 * @param silent called repeatedly while the oldest pending statement has had no response for `thresholdMs`
 */
function watchSilence(
  client: Sql,
  thresholdMs: number,
  answered: () => void,
  silent: (silentMs: number) => void,
): { sql: Sql; readonly clearedFailure: unknown; stop(): void } {
  const running = new Set<Statement>()
  let timer: NodeJS.Timeout | undefined
  let silentSince = 0
  /** The error that has aborted the transaction. */
  let failure: unknown
  /** The same, until the last statement ended the transaction or rolled back to a savepoint. */
  let clearedFailure: unknown
  const handler = handlerOf(client)

  const check = () => {
    const silentMs = performance.now() - silentSince
    if (running.size === 0) {
      clearInterval(timer)
      timer = undefined
    } else if (silentMs >= thresholdMs) silent(silentMs)
  }
  const sql = withHandler(client, (statement) => {
    const restart = () => {
      silentSince = performance.now()
    }
    if (running.size === 0) restart()
    running.add(statement)
    const ended = (error?: unknown) => {
      running.delete(statement)
      restart()
      if (error === undefined || !isConnectionLoss(error)) answered()
      // Of statements in one packet, the caller of a later one can be notified first.
      if (!isAborted(error)) {
        clearedFailure = failure
        failure = error
      }
      return failure
    }
    observe(statement, ended, restart)
    timer ??= setInterval(check, thresholdMs / 2).unref()
    return handler(statement)
  })
  return {
    sql,
    get clearedFailure() {
      return clearedFailure
    },
    stop: () => clearInterval(timer),
  }
}

/** A frozen server doesn't accept the request. */
const TERMINATE_TIMEOUT_S = 3

/**
 * Terminates a session from another one: a running statement doesn't notice that its client has disconnected. Best
 * effort, because `statement_timeout` ends the statement later.
 */
async function terminate(url: string, pid: number): Promise<void> {
  const session = connectAlone(url, { connect_timeout: TERMINATE_TIMEOUT_S })
  await session`select pg_terminate_backend(${pid}::int)`.catch(() => {})
  await session.end({ timeout: 1 }).catch(() => {})
}
