import type postgres from 'postgres'
import { waitUntil } from '../../time/wait-until.ts'

/**
 * Key ("Card" in ASCII) of the advisory lock that all processes share while they use the embedded server. It is taken
 * in the maintenance database; advisory locks belong to one database, so it cannot collide with Cardstall's others.
 */
const IN_USE = 0x43617264

const LEAVE_TIMEOUT_MS = 5_000

export type User = {
  /** Whether no other process used the server when this one joined. */
  wasAlone: boolean
  /** Ends the use. True for the last user; then no process can join until the server has stopped. */
  leave(): Promise<boolean>
}

/** Registers this session as a user of its server. */
export async function joinUsers(session: Session): Promise<User> {
  const { sql } = session
  const [others] = await sql<[{ count: number }]>`
    select count(*)::int
    from pg_locks
    where locktype = 'advisory' and objid = ${IN_USE}
      and database = (select oid from pg_database where datname = current_database())`
  await sql`select pg_advisory_lock_shared(${IN_USE})`

  return {
    wasAlone: others?.count === 0,
    async leave() {
      return (await waitUntil(LEAVE_TIMEOUT_MS, () => tryToBeLast(session))) ?? false
    },
  }
}

async function tryToBeLast({ sql }: Session): Promise<boolean | undefined> {
  try {
    await sql`select pg_advisory_unlock_all()`
    const [row] = await sql<[{ last: boolean }]>`select pg_try_advisory_lock(${IN_USE}) as last`
    return row.last
  } catch (error) {
    // A refused connection means that the server has stopped. Other errors may be temporary, such as a crash recovery.
    return (error as { code?: string }).code === 'ECONNREFUSED' ? false : undefined
  }
}

/**
 * One connection to the server's maintenance database, which always exists: other databases may be dropped or used as
 * templates.
 */
export type Session = {
  sql: postgres.Sql
  /** Resolves when the connection breaks or is closed; the next query opens it again. */
  broken: Promise<void>
  close(): Promise<void>
}
