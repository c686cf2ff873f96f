import { beginWait, currentBudget, endWait } from './budget.ts'
import type { Circuit } from './circuit.ts'
import { circuitTo, WRITE_LIMIT_MS } from './connect.ts'
import type { Db } from './sql.ts'
import { limitOn, NO_LIMIT } from './time-limit.ts'
import { openTransactionConnection, type TransactionConnection } from './transaction-connection.ts'
import { DatabaseUnavailable } from './unavailable.ts'

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

export type TransactionLimits = {
  /** The time of a transaction that writes, from its first statement until its COMMIT is sent. */
  writeMs: number
  /** The wait for a connection; and for one request, the wait and the transaction together. */
  waitMs: number
  /** A server that says nothing to a statement or a COMMIT for so long is frozen or out of reach. */
  silenceMs: number
  /** Transactions that wait for a connection; further ones fail at once. */
  maxWaiting: number
}

export const TRANSACTION_LIMITS: TransactionLimits = {
  writeMs: WRITE_LIMIT_MS,
  waitMs: 10_000,
  silenceMs: 11_000,
  maxWaiting: 1_000,
}

/** A statement that takes longer may mean that the database is away: it's visited then. */
const SUSPECT_AFTER_MS = 2_000

type Waiting = { serve(connection: TransactionConnection): void; fail(error: Error): void }

/**
 * Transactions on connections of their own. The client's own `begin` can't be trusted with money: when the
 * connection is lost half-way it may bring the process down, or reconnect and send the rest of one transaction in
 * the middle of another. Here a lane whose connection closed is thrown away with its transaction, and
 * the server helps: outside of `begin … read write` these sessions can't write at all.
 *
 * A transaction that writes is given up when it would commit later than `writeMs` after its work began. Incremental syncs rely on it:
 * they look back further than that for rows that were committed after their time (`updated_at`) had been asked for.
 *
 * A frozen server holds no lane for long: whatever waits for it is given up by our clock.
 *
 * @param most how many transactions run at a time; others wait in line
 */
export function transactionsOn(
  url: string,
  most: number,
  { circuit = circuitTo(url), ...own }: Partial<TransactionLimits> & { circuit?: Circuit } = {},
): Transactions {
  const limits = { ...TRANSACTION_LIMITS, ...own }
  const idle: TransactionConnection[] = []
  const waiting = new Set<Waiting>()
  const open = new Set<TransactionConnection>()
  /** In use while the database went away: they count no more, and go once they are given back. */
  const stale = new Set<TransactionConnection>()

  const newConnection = (): TransactionConnection => {
    const connection = openTransactionConnection(url, {
      silenceMs: limits.silenceMs,
      suspectMs: Math.min(SUSPECT_AFTER_MS, limits.silenceMs / 2),
      suspect: circuit.suspect,
      answered: circuit.answered,
    })
    open.add(connection)
    connection.ready.then(circuit.answered, (error) => {
      const others = [...open].some((other) => other !== connection && other.isReady && !other.lost)
      if (!others && open.has(connection)) circuit.failed(error)
    })
    return connection
  }

  const take = async (waitMs: number): Promise<TransactionConnection> => {
    if (circuit.away) throw circuit.away
    for (let connection = idle.pop(); connection; connection = idle.pop()) {
      if (!connection.lost) return connection
      discard(connection)
    }
    if (open.size - stale.size < most) return newConnection()
    if (waiting.size >= limits.maxWaiting) {
      throw new DatabaseUnavailable('Too many transactions wait for a connection already.')
    }
    return waitForConnection(waitMs)
  }

  const waitForConnection = (waitMs: number): Promise<TransactionConnection> =>
    new Promise((resolve, reject) => {
      const done = () => {
        clearTimeout(timer)
        waiting.delete(place)
      }
      const place: Waiting = {
        serve(connection) {
          done()
          resolve(connection)
        },
        fail(error) {
          done()
          reject(error)
        },
      }
      const timer = setTimeout(
        () => place.fail(new DatabaseUnavailable('No connection was free in time.')),
        waitMs,
      )
      waiting.add(place)
    })

  const discard = (connection: TransactionConnection) => {
    open.delete(connection)
    stale.delete(connection)
    connection.close()
  }

  const giveBack = (connection: TransactionConnection) => {
    const isUsable = !connection.lost && !stale.has(connection)
    if (!isUsable) discard(connection)
    const [next] = waiting
    if (next && isUsable) next.serve(connection)
    else if (next && open.size - stale.size < most) next.serve(newConnection())
    else if (isUsable) idle.push(connection)
  }

  circuit.on((away) => {
    for (const connection of idle.splice(0)) discard(connection)
    for (const connection of open) stale.add(connection)
    for (const place of waiting) place.fail(away)
  })

  /** Fails a transaction with the reason that a caller can use: a lane that couldn't connect is a database away. */
  const connected = (connection: TransactionConnection) =>
    connection.ready.catch((cause) => {
      throw new DatabaseUnavailable('No connection to the database.', { cause })
    })

  const begin: Begin = async (work, mode = 'write') => {
    const budget = currentBudget()
    const now = performance.now()
    const leftMs = budget ? Math.min(limits.waitMs, beginWait(budget, now)) : limits.waitMs
    try {
      const connection = await take(Math.max(1, leftMs))
      const leftForUs = Math.max(1, leftMs - (performance.now() - now))
      return await runOn(connection, work, mode, leftForUs, budget !== undefined)
    } finally {
      if (budget) endWait(budget, performance.now())
    }
  }

  /** @param waitMs for the connection; for all of it, COMMIT included, where `isWhole` */
  const runOn = async <T>(
    connection: TransactionConnection,
    work: (db: Db) => Promise<T>,
    mode: TransactionMode,
    waitMs: number,
    isWhole: boolean,
  ): Promise<T> => {
    const limit = mode === 'write' ? limitOn(connection, limits.writeMs) : NO_LIMIT
    const patience = setTimeout(
      () => connection.giveUp(new DatabaseUnavailable('The database did not answer in time.')),
      waitMs,
    ).unref()
    const whole = async () => {
      const { limitsTransactions } = await connected(connection)
      if (!isWhole) clearTimeout(patience)
      // Not waited for: the work's first statement follows in the same packet. Should it fail, the
      // server refuses the work's writes, which then stand outside of a transaction.
      const begun = connection.sql.unsafe(MODES[mode] + (limitsTransactions ? limit.onServer : ''))
      begun.catch(() => {})
      limit.start()
      try {
        const answer = await work(connection.sql)
        await begun
        limit.check()
        await commit(connection)
        return answer
      } catch (error) {
        // When it failed, that's the reason for whatever came after.
        await begun
        throw error
      }
    }
    try {
      return await Promise.race([whole(), connection.loss])
    } catch (error) {
      await rollBack(connection)
      throw error
    } finally {
      clearTimeout(patience)
      limit.stop()
      giveBack(connection)
    }
  }

  return {
    begin,
    async end() {
      circuit.close()
      await Promise.all([...open].map(({ sql }) => sql.end({ timeout: 5 })))
    },
  }
}

async function commit(connection: TransactionConnection): Promise<void> {
  // On a new connection COMMIT would succeed and mean nothing, and what was given up must not be committed.
  if (connection.lost) await connection.loss
  const { command } = await connection.sql.unsafe('commit')
  // PostgreSQL answers ROLLBACK to the COMMIT of a transaction in which something failed.
  if (command !== 'COMMIT') throw new Error('The transaction had failed and was rolled back.')
}

async function rollBack(connection: TransactionConnection): Promise<void> {
  if (connection.lost) return
  await Promise.race([connection.sql.unsafe('rollback'), connection.loss]).catch(connection.giveUp)
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
