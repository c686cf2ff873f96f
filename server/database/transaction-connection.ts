import { connectAlone, connectForTransactions } from './connect.ts'
import type { Sql } from './sql.ts'
import { follow, handlerOf, redirected, type Statement } from './statements.ts'
import { DatabaseUnavailable, isLoss } from './unavailable.ts'

/** A connection that runs one transaction at a time. Once it was lost it's never used again. */
export type TransactionConnection = {
  readonly sql: Sql
  /** When the connection is there. What's sent before could wait behind one that fails, see `connectForTransactions`. */
  readonly ready: Promise<Server>
  readonly isReady: boolean
  readonly lost: boolean
  /** Rejects when the lane is lost. The client doesn't always tell those who wait for an answer. */
  readonly loss: Promise<never>
  /** Loses the lane on purpose: closes its connection, and has the server end what runs on it. */
  giveUp(reason: Error): void
  close(): void
}

/** The server's side of a lane. */
type Server = { pid: number; limitsTransactions: boolean }

/** Reaction of a lane to a server that does not answer. */
type Silence = {
  /** A statement that isn't answered for so long means that the lane is lost. */
  silenceMs: number
  /** And so long that the database may be away. */
  suspectMs: number
  suspect(): void
  answered(): void
}

/** Opens a lane; whether that worked is told by its `ready`. */
export function openTransactionConnection(url: string, silence: Silence): TransactionConnection {
  const { silenceMs, suspectMs, suspect, answered } = silence
  let lost = false
  let server: Server | undefined
  const { promise: loss, reject } = Promise.withResolvers<never>()
  loss.catch(() => {})
  const client = connectForTransactions(url, () =>
    lose(new DatabaseUnavailable('The connection was lost during a transaction.')),
  )
  const watch = watched(client, suspectMs, answered, (sinceMs) => {
    suspect()
    if (sinceMs >= silenceMs)
      connection.giveUp(new DatabaseUnavailable('The database did not answer.'))
  })
  const { sql } = watch
  const lose = (reason: Error) => {
    lost = true
    watch.stop()
    reject(reason)
  }
  const meet = async (): Promise<Server> => {
    const rows = await client<Server[]>`
      select
        pg_backend_pid() as pid,
        current_setting('server_version_num')::int >= 170000 as "limitsTransactions"
    `
    server = rows[0]!
    return server
  }
  const ready = meet()
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
    get lost() {
      return lost
    },
    loss,
    giveUp(reason) {
      if (lost) return
      lose(reason)
      close()
      if (server) void terminate(url, server.pid)
    },
    close,
  }
  return connection
}

/** The client, and an eye on its statements: `silent` is called every `everyMs` while the oldest isn't answered. */
function watched(
  client: Sql,
  everyMs: number,
  answered: () => void,
  silent: (sinceMs: number) => void,
): { sql: Sql; stop(): void } {
  const running = new Set<Statement>()
  let timer: NodeJS.Timeout | undefined
  let since = 0
  const handler = handlerOf(client)

  const look = () => {
    if (running.size === 0) {
      clearInterval(timer)
      timer = undefined
    } else if (performance.now() - since >= everyMs) silent(performance.now() - since)
  }
  const sql = redirected(client, (statement) => {
    if (running.size === 0) since = performance.now()
    running.add(statement)
    const renewed = () => {
      since = performance.now()
    }
    const ended = (error?: unknown) => {
      running.delete(statement)
      renewed()
      if (error === undefined || !isLoss(error)) answered()
    }
    follow(statement, ended, renewed)
    timer ??= setInterval(look, everyMs / 2).unref()
    return handler(statement)
  })
  return { sql, stop: () => clearInterval(timer) }
}

/** A frozen server can't be asked to. */
const TERMINATE_TIMEOUT_S = 3

/**
 * Ends a session from outside: a statement doesn't notice that its client has left. Best effort, the statement's own
 * timeout comes later; a session that has ended already is none of anybody's.
 */
async function terminate(url: string, pid: number): Promise<void> {
  const session = connectAlone(url, { connect_timeout: TERMINATE_TIMEOUT_S })
  await session`select pg_terminate_backend(${pid}::int)`.catch(() => {})
  await session.end({ timeout: 1 }).catch(() => {})
}
