import { type Db, WRITE_LIMIT_MS } from './connect.ts'
import { type Lane, openLane } from './lane.ts'
import { limitOn, NO_LIMIT } from './time-limit.ts'

/** Runs `work` in a transaction and hands on what it answers; when it throws, none of its changes stay. */
export type Begin = <T>(work: (db: Db) => Promise<T>, mode?: TransactionMode) => Promise<T>

/** `unboundedWrite` takes as long as it takes: see `inUnboundedTransaction`. */
export type TransactionMode = 'write' | 'unboundedWrite' | 'snapshot'

const MODES: Record<TransactionMode, string> = {
  write: 'begin isolation level read committed read write',
  unboundedWrite: 'begin isolation level read committed read write',
  snapshot: 'begin isolation level repeatable read read only',
}

export type Transactions = { begin: Begin; end(): Promise<void> }

/**
 * Transactions on connections of their own. The client's own `begin` can't be trusted with money: when the
 * connection is lost half-way it may bring the process down, or reconnect and send the rest of one transaction in
 * the middle of another. Here a lane whose connection closed is thrown away with its transaction, and
 * the server helps: outside of `begin … read write` these sessions can't write at all.
 *
 * What writes is given up when it would commit later than `limitMs` after its work began. Incremental syncs rely on it:
 * they look back further than that for rows that were committed after their time (`updated_at`) had been asked for.
 *
 * @param most how many transactions run at a time; others wait in line, which counts for no limit
 */
export function transactionsOn(
  url: string,
  most: number,
  limitMs: number = WRITE_LIMIT_MS,
): Transactions {
  const idle: Lane[] = []
  const waiting: ((lane: Lane) => void)[] = []
  const open = new Set<Lane>()

  const newLane = (): Lane => {
    const lane = openLane(url)
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
    lane.close()
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
      const limit = mode === 'write' ? limitOn(lane, limitMs) : NO_LIMIT
      const whole = async () => {
        const { limitsTransactions } = await lane.ready
        // Not waited for: the work's first statement follows in the same packet. Should it fail, the
        // server refuses the work's writes, which then stand outside of a transaction.
        const begun = lane.sql.unsafe(MODES[mode] + (limitsTransactions ? limit.onServer : ''))
        begun.catch(() => {})
        limit.start()
        try {
          const answer = await work(lane.sql)
          await begun
          limit.check()
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
        limit.stop()
        giveBack(lane)
      }
    },

    async end() {
      await Promise.all([...open].map(({ sql }) => sql.end({ timeout: 5 })))
    },
  }
}

async function commit(lane: Lane): Promise<void> {
  // On a new connection COMMIT would succeed and mean nothing, and what was given up must not be committed.
  if (lane.lost) await lane.loss
  const { command } = await lane.sql.unsafe('commit')
  // PostgreSQL answers ROLLBACK to the COMMIT of a transaction in which something failed.
  if (command !== 'COMMIT') throw new Error('The transaction had failed and was rolled back.')
}

async function rollBack(lane: Lane): Promise<void> {
  if (lane.lost) return
  await Promise.race([lane.sql.unsafe('rollback'), lane.loss]).catch(lane.giveUp)
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
