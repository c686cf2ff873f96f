import { connectAlone } from './connect.ts'
import type { Db } from './sql.ts'

/** First key of our advisory locks: "card" in ASCII, which no other program is likely to use. */
const LOCK_CLASS = 0x63617264
const FENCE_CLASS = LOCK_CLASS + 1

/** Work that only one process may do at a time on one database. */
export const LOCKS = { migrate: 1, import: 2 } as const

export type AdvisoryLock = {
  /**
   * Must be called at the beginning of each transaction that relies on the lock. Throws if the lock was lost. The next
   * holder's `guard` waits until this transaction has ended.
   */
  guard(tx: Db): Promise<void>
}

/**
 * Runs `work` while no other process holds the same lock on this database. The lock is a session lock on a separate
 * connection, so it ends with the process. It also ends if only that connection is lost, which the server may know long
 * before this process does: therefore `guard` asks the server.
 */
export async function withAdvisoryLock<T>(
  url: string,
  lock: keyof typeof LOCKS,
  work: (held: AdvisoryLock) => Promise<T>,
): Promise<T> {
  const session = connectAlone(url)
  try {
    // The wait for the lock is a transaction. PostgreSQL 17 and later have a time limit for it.
    await session`
      select set_config(name, '0', false) from pg_settings where name = 'transaction_timeout'
    `
    const [row] = await session<{ pid: number }[]>`
      select pg_backend_pid() as pid, pg_advisory_lock(${LOCK_CLASS}::int, ${LOCKS[lock]}::int)
    `
    return await work({ guard: (tx) => guard(tx, lock, row!.pid) })
  } finally {
    await session.end({ timeout: 1 })
  }
}

/**
 * Makes a short transaction wait for the guarded one of the lock's holder, and keeps the next one waiting until it
 * ends. It doesn't take the lock itself, whose holder may work for minutes. Call it at the beginning of the
 * transaction.
 */
export async function waitAtFence(tx: Db, lock: keyof typeof LOCKS): Promise<void> {
  await tx`select pg_advisory_xact_lock(${FENCE_CLASS}::int, ${LOCKS[lock]}::int)`
}

/**
 * Takes the fence before it checks the lock: if another session takes the lock after the check, that session's first
 * guarded transaction waits at the fence.
 */
async function guard(tx: Db, lock: keyof typeof LOCKS, holder: number): Promise<void> {
  await waitAtFence(tx, lock)
  const held = await tx`
    select
    from pg_locks
    where
      locktype = 'advisory' and granted and pid = ${holder}::int
      and classid = ${LOCK_CLASS}::int::oid and objid = ${LOCKS[lock]}::int::oid and objsubid = 2
      and database = (select oid from pg_database where datname = current_database())
  `
  if (held.length === 0) {
    throw new Error(`The lock for ${lock} was lost: its connection to the database is gone.`)
  }
}
