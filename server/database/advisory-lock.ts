import { connectAlone } from './connect.ts'
import type { Db } from './sql.ts'

/** A whole number that no other program is likely to use as an advisory lock's first half: "card" in ASCII. */
const LOCK_SPACE = 0x63617264
const FENCE_SPACE = LOCK_SPACE + 1

/** What may happen in one process at a time on one database. */
export const LOCKS = { migrate: 1, import: 2 } as const

/** A lock as its holder knows it. */
export type HeldLock = {
  /**
   * Belongs at the beginning of each transaction that relies on the lock. It throws when the lock was lost; and
   * whoever holds the lock after us waits in here until our transaction is over.
   */
  guard(tx: Db): Promise<void>
}

/**
 * Runs `work` while no other process holds the same lock on this database. The lock belongs to a connection
 * of its own, so it goes with the process, even with a killed one. It also goes when that connection alone is lost,
 * which the server may know long before us: hence `guard`, which asks the server.
 */
export async function withLock<T>(
  url: string,
  lock: keyof typeof LOCKS,
  work: (held: HeldLock) => Promise<T>,
): Promise<T> {
  const session = connectAlone(url)
  try {
    const [row] = await session<{ pid: number }[]>`
      select pg_backend_pid() as pid, pg_advisory_lock(${LOCK_SPACE}::int, ${LOCKS[lock]}::int)
    `
    return await work({ guard: (tx) => guard(tx, lock, row!.pid) })
  } finally {
    await session.end({ timeout: 1 })
  }
}

/**
 * The fence first, then the look: when another session takes the lock after we looked, the first transaction it
 * guards meets our fence.
 */
async function guard(tx: Db, lock: keyof typeof LOCKS, holder: number): Promise<void> {
  await tx`select pg_advisory_xact_lock(${FENCE_SPACE}::int, ${LOCKS[lock]}::int)`
  const held = await tx`
    select
    from pg_locks
    where
      locktype = 'advisory' and granted and pid = ${holder}::int
      and classid = ${LOCK_SPACE}::int::oid and objid = ${LOCKS[lock]}::int::oid and objsubid = 2
      and database = (select oid from pg_database where datname = current_database())
  `
  if (held.length === 0) {
    throw new Error(`The lock for ${lock} was lost: its connection to the database is gone.`)
  }
}
