import { connectLane, type Db, type Sql } from './connect.ts'

/** Runs `work` in a transaction and hands on what it answers; when it throws, none of its changes stay. */
export type Begin = <T>(work: (db: Db) => Promise<T>, mode?: TransactionMode) => Promise<T>

export type TransactionMode = keyof typeof MODES

const MODES = {
  write: 'begin isolation level read committed read write',
  snapshot: 'begin isolation level repeatable read read only',
} as const

export type Transactions = { begin: Begin; end(): Promise<void> }

/** A connection that runs one transaction at a time. Once it was lost it's never used again. */
type Lane = {
  sql: Sql
  /** When the connection is there. What's sent before could wait behind one that fails, see `connectLane`. */
  ready: Promise<unknown>
  lost: boolean
  /** Rejects when the connection closes. The client doesn't always tell those who wait for an answer. */
  loss: Promise<never>
}

/**
 * Transactions on connections of their own. The client's own `begin` can't be trusted with money: when the
 * connection is lost half-way it may bring the process down, or reconnect and send the rest of one transaction in
 * the middle of another. Here a lane whose connection closed is thrown away with its transaction, and
 * the server helps: outside of `begin … read write` these sessions can't write at all.
 *
 * @param most how many transactions run at a time; others wait in line
 */
export function transactionsOn(url: string, most: number): Transactions {
  const idle: Lane[] = []
  const waiting: ((lane: Lane) => void)[] = []
  const open = new Set<Lane>()

  const newLane = (): Lane => {
    const { promise: loss, reject } = Promise.withResolvers<never>()
    loss.catch(() => {})
    const onclose = () => {
      lane.lost = true
      reject(new Error('The connection was lost during a transaction.'))
    }
    const sql = connectLane(url, onclose)
    const lane: Lane = { sql, ready: sql`select 1`, lost: false, loss }
    lane.ready.catch(() => {})
    open.add(lane)
    return lane
  }

  const take = async (): Promise<Lane> => {
    for (let lane = idle.pop(); lane; lane = idle.pop()) {
      if (!lane.lost) return lane
      discard(lane)
    }
    if (open.size < most) return newLane()
    return new Promise((resolve) => waiting.push(resolve))
  }

  const discard = (lane: Lane) => {
    open.delete(lane)
    void lane.sql.end({ timeout: 0 }).catch(() => {})
  }

  const giveBack = (lane: Lane) => {
    const next = waiting.shift()
    if (lane.lost) discard(lane)
    if (next) next(lane.lost ? newLane() : lane)
    else if (!lane.lost) idle.push(lane)
  }

  return {
    async begin(work, mode = 'write') {
      const lane = await take()
      const whole = async () => {
        await lane.ready
        // Not waited for: the work's first statement follows in the same packet. Should it fail, the
        // server refuses the work's writes, which then stand outside of a transaction.
        const begun = lane.sql.unsafe(MODES[mode])
        begun.catch(() => {})
        try {
          const answer = await work(lane.sql)
          await begun
          await commit(lane)
          return answer
        } catch (error) {
          // When it failed, that's the reason for whatever came after.
          await begun
          throw error
        }
      }
      try {
        return await Promise.race([whole(), lane.loss])
      } catch (error) {
        await rollBack(lane)
        throw error
      } finally {
        giveBack(lane)
      }
    },

    async end() {
      await Promise.all([...open].map(({ sql }) => sql.end({ timeout: 5 })))
    },
  }
}

async function commit(lane: Lane): Promise<void> {
  // On a new connection COMMIT would succeed and mean nothing.
  if (lane.lost) await lane.loss
  const { command } = await lane.sql.unsafe('commit')
  // PostgreSQL answers ROLLBACK to the COMMIT of a transaction in which something failed.
  if (command !== 'COMMIT') throw new Error('The transaction had failed and was rolled back.')
}

async function rollBack(lane: Lane): Promise<void> {
  if (lane.lost) return
  await Promise.race([lane.sql.unsafe('rollback'), lane.loss]).catch(() => {
    lane.lost = true
  })
}

/** A part of a transaction that is all or nothing in itself: it can fail without the rest. */
export async function savepoint<T>(db: Db, work: (db: Db) => Promise<T>): Promise<T> {
  // Not waited for, as with a transaction's begin.
  const begun = db.unsafe('savepoint part')
  begun.catch(() => {})
  try {
    const answer = await work(db)
    await begun
    await db.unsafe('release savepoint part')
    return answer
  } catch (error) {
    // Without it there's nothing to go back to but the part around this one, which has the same name.
    await begun
    await db.unsafe('rollback to savepoint part; release savepoint part')
    throw error
  }
}
