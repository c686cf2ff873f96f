import { connectAlone, connectLane, type Sql } from './connect.ts'

/** A connection that runs one transaction at a time. Once it was lost it's never used again. */
export type Lane = {
  readonly sql: Sql
  /** When the connection is there. What's sent before could wait behind one that fails, see `connectLane`. */
  readonly ready: Promise<Server>
  readonly lost: boolean
  /** Rejects when the lane is lost. The client doesn't always tell those who wait for an answer. */
  readonly loss: Promise<never>
  /** Loses the lane on purpose: closes its connection, and has the server end what runs on it. */
  giveUp(reason: Error): void
  close(): void
}

/** The server's side of a lane. */
type Server = { pid: number; limitsTransactions: boolean }

/** Opens a lane; whether that worked is told by its `ready`. */
export function openLane(url: string): Lane {
  let lost = false
  let server: Server | undefined
  const { promise: loss, reject } = Promise.withResolvers<never>()
  loss.catch(() => {})
  const lose = (reason: Error) => {
    lost = true
    reject(reason)
  }
  const sql = connectLane(url, () =>
    lose(new Error('The connection was lost during a transaction.')),
  )
  const meet = async (): Promise<Server> => {
    const rows = await sql<Server[]>`
      select
        pg_backend_pid() as pid,
        current_setting('server_version_num')::int >= 170000 as "limitsTransactions"
    `
    server = rows[0]!
    return server
  }
  const ready = meet()
  ready.catch(() => {})
  const close = () => void sql.end({ timeout: 0 }).catch(() => {})

  return {
    sql,
    ready,
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
}

/**
 * Ends a session from outside: a statement doesn't notice that its client has left. Best effort, the statement's own
 * timeout comes later; a session that has ended already is none of anybody's.
 */
async function terminate(url: string, pid: number): Promise<void> {
  const session = connectAlone(url)
  await session`select pg_terminate_backend(${pid}::int)`.catch(() => {})
  await session.end({ timeout: 1 }).catch(() => {})
}
