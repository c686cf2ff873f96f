import { realpath } from 'node:fs/promises'
import postgres from 'postgres'
import type { Cluster } from './cluster.ts'
import { joinUsers, type Session, type User } from './users.ts'

const RECONNECT_DELAY_S = 0.25

/** A running server that this process uses, and the connection that registers the use. */
export type Server = {
  pid: number
  port: number
  /** Whether it has a Unix socket in the cluster's folder. */
  hasSocket: boolean
  session: Session
  user: User
}

/** The result of connecting to a port. */
export type ProbeResult =
  | { found: 'ours'; server: Server }
  | { found: 'none' }
  /** A server that is starting, recovering, shutting down, or has no free connection. */
  | { found: 'busy'; reason: string }
  /** A server of another cluster, or one that rejects the password. */
  | { found: 'foreign'; reason: string }

/** Connects to the port and checks that the server runs on our cluster. If so, this process becomes its user. */
export async function probe(port: number, cluster: Cluster): Promise<ProbeResult> {
  const session = openSession(port, cluster.password)
  try {
    const [row] = await session.sql<[{ directory: string; pid: number; hasSocket: boolean }]>`
      select current_setting('data_directory') as directory,
             current_setting('unix_socket_directories') <> '' as "hasSocket",
             split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int as pid`
    const directory = await realpath(row.directory)
    if (directory === cluster.directory) {
      const user = await joinUsers(session)
      const { pid, hasSocket } = row
      return { found: 'ours', server: { pid, port, hasSocket, session, user } }
    }
    await session.close()
    return { found: 'foreign', reason: `that is the server of ${directory}` }
  } catch (error) {
    await session.close()
    return classify(error as Error & { code?: string })
  }
}

function openSession(port: number, password: string): Session {
  const { promise: broken, resolve } = Promise.withResolvers<void>()
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
    // Never replaced because of its age: a new connection would not hold the locks of the old one.
    max_lifetime: null,
    fetch_types: false,
    ssl: false,
    connection: { application_name: 'cardstall embedded' },
    onnotice: () => {},
    onclose: () => resolve(),
  })
  return { sql, broken, close: () => sql.end({ timeout: 1 }) }
}

function classify({ code, message }: Error & { code?: string }): ProbeResult {
  if (code === 'ECONNREFUSED') return { found: 'none' }
  if (code && TEMPORARY.has(code)) return { found: 'busy', reason: message }
  return { found: 'foreign', reason: message }
}

const TEMPORARY = new Set([
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
