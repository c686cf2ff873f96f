import { realpath } from 'node:fs/promises'
import postgres from 'postgres'
import type { Cluster } from './cluster.ts'
import { joinUsers, type Session, type User } from './users.ts'

const RECONNECT_DELAY_S = 0.25

/** A running server, our connection to it, and we as one of its users. */
export type Server = { pid: number; port: number; session: Session; user: User }

/** Who was met at a port. */
export type Answer =
  | { from: 'ours'; server: Server }
  | { from: 'nobody' }
  /** A server that is starting, recovering, shutting down or full. */
  | { from: 'busy'; reason: string }
  | { from: 'stranger'; reason: string }

/** Connects to the port, finds out whether our cluster's own server is there, and becomes its user. */
export async function ask(port: number, cluster: Cluster): Promise<Answer> {
  const session = openSession(port, cluster.password)
  try {
    const [row] = await session.sql<[{ directory: string; pid: number }]>`
      select current_setting('data_directory') as directory,
             split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int as pid`
    const directory = await realpath(row.directory)
    if (directory === cluster.directory) {
      const user = await joinUsers(session)
      return { from: 'ours', server: { pid: row.pid, port, session, user } }
    }
    await session.close()
    return { from: 'stranger', reason: `that is the server of ${directory}` }
  } catch (error) {
    await session.close()
    return meaningOf(error as Error & { code?: string })
  }
}

function openSession(port: number, password: string): Session {
  const sql = postgres({
    host: '127.0.0.1',
    port,
    database: 'postgres',
    username: 'cardstall',
    password,
    max: 1,
    connect_timeout: 5,
    backoff: () => RECONNECT_DELAY_S,
    idle_timeout: 0,
    // Never renewed: a new connection would be without the locks of the old one.
    max_lifetime: null,
    fetch_types: false,
    ssl: false,
    connection: { application_name: 'cardstall embedded' },
    onnotice: () => {},
    onclose: () => session.onBreak(),
  })
  const session: Session = {
    sql,
    onBreak: () => {},
    close: () => {
      session.onBreak = () => {}
      return sql.end({ timeout: 1 })
    },
  }
  return session
}

function meaningOf({ code, message }: Error & { code?: string }): Answer {
  if (code === 'ECONNREFUSED') return { from: 'nobody' }
  if (code && TRY_AGAIN.has(code)) return { from: 'busy', reason: message }
  return { from: 'stranger', reason: message }
}

const TRY_AGAIN = new Set([
  '57P01', // terminating connection due to administrator command
  '57P02', // terminating connection because of crash of another server process
  '57P03', // the database system is starting up, shutting down, in recovery
  '53300', // too many clients already
  'ECONNRESET',
  'EPIPE',
  'CONNECT_TIMEOUT',
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
])
