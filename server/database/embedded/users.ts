import type postgres from 'postgres'
import { poll } from '../../time/wait-until.ts'

/**
 * The advisory lock that every process using the embedded server shares for as long as it uses it. Taken
 * in the maintenance database, and advisory locks belong to a database: it cannot meet those that
 * Cardstall takes in its own. "Card" in ASCII.
 */
const IN_USE = 0x43617264

const LEAVE_TIMEOUT_MS = 5_000

export type User = {
  /** Nobody else used the server when we joined. */
  wasAlone: boolean
  /** Gives up our use. True when we were the last, and now nobody can join until the server is gone. */
  leave(): Promise<boolean>
}

/** Makes this session one of the users of its server. */
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
      return (await poll(LEAVE_TIMEOUT_MS, () => tryToBeLast(session))) ?? false
    },
  }
}

async function tryToBeLast({ sql }: Session): Promise<boolean | undefined> {
  try {
    await sql`select pg_advisory_unlock_all()`
    const [row] = await sql<[{ last: boolean }]>`select pg_try_advisory_lock(${IN_USE}) as last`
    return row.last
  } catch (error) {
    // Nobody there: it's off already. Anything else may pass, such as the recovery after a crash.
    return (error as { code?: string }).code === 'ECONNREFUSED' ? false : undefined
  }
}

/**
 * One connection of ours to the server, to its maintenance database: that one is there from the first
 * moment, and stays when the others are dropped or used as templates.
 */
export type Session = {
  sql: postgres.Sql
  /** Called when the connection breaks; the next query opens it again. */
  onBreak: () => void
  close(): Promise<void>
}
