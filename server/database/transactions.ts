import { beginWait, currentAccount, currentBudget, endWait } from './budget.ts'
import type { Circuit } from './circuit.ts'
import { committingSessions } from './committing-sessions.ts'
import { circuitFor, WRITE_LIMIT_MS } from './connect.ts'
import type { Db } from './sql.ts'
import { limitOn, NO_LIMIT } from './time-limit.ts'
import { openTransactionConnection, type TransactionConnection } from './transaction-connection.ts'
import { connectionsClosed, DatabaseUnavailable, tookTooLong } from './unavailable.ts'

/** Runs `work` in a transaction and returns its result. If it throws, the transaction is rolled back. */
export type Begin = <T>(work: (db: Db) => Promise<T>, mode?: TransactionMode) => Promise<T>

/**
 * `unboundedWrite` has no time limit: see `inUnboundedTransaction`. A `snapshot` plans each statement for its parameters,
 * because a filter of a list can match one row or nearly all of them: a plan for any parameters took minutes.
 */
export type TransactionMode = 'write' | 'unboundedWrite' | 'snapshot'

/**
 * These sessions are read-only outside of transactions. An administrator's `default_transaction_read_only`, which that
 * setting of the session hides, applies to the transaction. `synchronous_commit = off` does not: a crash of the database
 * would lose changes that clients have a response for. Any other value is the administrator's choice.
 */
const BEGIN_WRITE = [
  'begin isolation level read committed read write',
  'set local default_transaction_read_only to default',
  `
    select
      set_config('transaction_read_only', current_setting('default_transaction_read_only'), true) as "readOnly",
      case current_setting('synchronous_commit')
        when 'off' then set_config('synchronous_commit', 'on', true)
      end
  `,
].join('; ')

const MODES: Record<TransactionMode, string> = {
  write: BEGIN_WRITE,
  unboundedWrite: BEGIN_WRITE,
  snapshot:
    'begin isolation level repeatable read read only; set local plan_cache_mode = force_custom_plan',
}

export type Transactions = {
  begin: Begin
  /** Closes the connections. Transactions that wait for one, or begin later, fail. */
  end(): Promise<void>
}

export type TransactionLimits = {
  /** Time limit of a transaction that writes, from its first statement until its COMMIT is sent. */
  writeMs: number
  /** Time limit of the wait for a connection; in a request, of the wait and the transaction together. */
  waitMs: number
  /** Without a response to a statement or COMMIT for this long, the server counts as frozen or unreachable. */
  silenceMs: number
  /** Transactions that may wait for a connection; further ones fail at once. */
  maxWaiting: number
}

const TRANSACTION_LIMITS: TransactionLimits = {
  writeMs: WRITE_LIMIT_MS,
  waitMs: 10_000,
  silenceMs: 11_000,
  maxWaiting: 1_000,
}

/** A slower statement makes the database suspect, and the circuit probes it. */
const SUSPECT_AFTER_MS = 2_000

/** SQLSTATE of `read write` on a server that has become a standby: feature not supported. */
const REFUSED_BY_STANDBY = '0A000'

/** SQLSTATE of a savepoint whose BEGIN failed: no active transaction. */
const OUTSIDE_TRANSACTION = '25P01'

type Waiter = {
  accountId: number | undefined
  serve(connection: TransactionConnection): void
  fail(error: Error): void
}

/**
 * Opens a pool for transactions. The client's own `begin` is unsafe: if the connection is lost during a transaction,
 * the client may crash the process, or reconnect and send the rest of the transaction in the middle of another one.
 * Here a closed connection is discarded together with its transaction, and the server helps: these sessions can only
 * write inside `begin … read write`.
 *
 * A transaction that writes is aborted if it would commit more than `writeMs` after it began. Incremental syncs rely
 * on this: they look back further than that, and so find rows that were committed after their `updated_at`.
 *
 * A frozen server occupies no connection for long: every wait for it has a time limit of this process. The requests of one
 * seller hold at most a third of the connections (at least one), and at most a third of the places in the queue.
 *
 * @param max transactions that run at the same time; further ones are queued
 */
export function transactionsOn(
  url: string,
  max: number,
  { circuit = circuitFor(url), ...own }: Partial<TransactionLimits> & { circuit?: Circuit } = {},
): Transactions {
  const limits = { ...TRANSACTION_LIMITS, ...own }
  // A seller's transactions can wait for each other's locks: they must not hold the connections of all sellers.
  const maxHeld = Math.max(1, Math.floor(max / 3))
  const maxQueued = Math.floor(limits.maxWaiting / 3)
  /** Connections that the requests of each seller hold. */
  const held = countsOfAccounts()
  /** Transactions of each seller that wait for a connection. */
  const queued = countsOfAccounts()
  const idle: TransactionConnection[] = []
  const waiting = new Set<Waiter>()
  const open = new Set<TransactionConnection>()
  /** Connections from before the circuit opened, or to a read-only server. They don't count, and are discarded on release. */
  const stale = new Set<TransactionConnection>()
  /** Sessions of aborted connections that may wait for a synchronous standby. Writes would leave more and more of them. */
  const committing = committingSessions(url)
  let hasEnded = false

  const newConnection = (): TransactionConnection => {
    const connection = openTransactionConnection(url, {
      silenceMs: limits.silenceMs,
      suspectMs: Math.min(SUSPECT_AFTER_MS, limits.silenceMs / 2),
      suspect: circuit.suspect,
      answered: circuit.answered,
      leftCommitting: committing.watch,
    })
    open.add(connection)
    connection.ready.then(circuit.answered, (error) => {
      const others = [...open].some(
        (other) => other !== connection && other.isReady && !other.closed,
      )
      if (!others && open.has(connection)) circuit.failed(error)
    })
    return connection
  }

  const mayHold = (accountId: number | undefined) => held.of(accountId) < maxHeld

  const take = async (
    waitMs: number,
    mode: TransactionMode,
    accountId: number | undefined,
  ): Promise<TransactionConnection> => {
    if (hasEnded) throw connectionsClosed()
    if (circuit.unavailable) throw circuit.unavailable
    if (mode !== 'snapshot' && committing.number >= max) {
      throw new DatabaseUnavailable('Commits don’t end: the database may wait for a standby.')
    }
    if (mayHold(accountId)) {
      const connection = freeConnection()
      if (connection) {
        held.add(accountId, 1)
        return connection
      }
    }
    if (waiting.size >= limits.maxWaiting || queued.of(accountId) >= maxQueued) {
      throw new DatabaseUnavailable('Too many transactions are waiting for a connection.')
    }
    return waitForConnection(waitMs, accountId)
  }

  const freeConnection = (): TransactionConnection | undefined => {
    for (let connection = idle.pop(); connection; connection = idle.pop()) {
      if (!connection.closed) return connection
      discard(connection)
    }
    return open.size - stale.size < max ? newConnection() : undefined
  }

  const waitForConnection = (
    waitMs: number,
    accountId: number | undefined,
  ): Promise<TransactionConnection> =>
    new Promise((resolve, reject) => {
      const done = () => {
        clearTimeout(timer)
        waiting.delete(waiter)
        queued.add(accountId, -1)
      }
      const waiter: Waiter = {
        accountId,
        serve(connection) {
          done()
          held.add(accountId, 1)
          resolve(connection)
        },
        fail(error) {
          done()
          reject(error)
        },
      }
      const timer = setTimeout(
        () => waiter.fail(new DatabaseUnavailable('No connection was free in time.')),
        waitMs,
      )
      waiting.add(waiter)
      queued.add(accountId, 1)
    })

  const discard = (connection: TransactionConnection) => {
    open.delete(connection)
    stale.delete(connection)
    connection.close()
  }

  const release = (connection: TransactionConnection, accountId: number | undefined) => {
    held.add(accountId, -1)
    const isUsable = !connection.closed && !stale.has(connection)
    if (!isUsable) discard(connection)
    const next = waiting.values().find((waiter) => mayHold(waiter.accountId))
    if (next && isUsable) next.serve(connection)
    else if (next && open.size - stale.size < max) next.serve(newConnection())
    else if (isUsable) idle.push(connection)
  }

  circuit.onOpen((reason) => {
    for (const connection of idle.splice(0)) discard(connection)
    for (const connection of open) stale.add(connection)
    committing.forget()
    for (const waiter of waiting) waiter.fail(reason)
  })

  /** Waits until the connection is open. A failure to connect becomes `DatabaseUnavailable`. */
  const connected = (connection: TransactionConnection) =>
    connection.ready.catch((cause) => {
      throw new DatabaseUnavailable('No connection to the database.', { cause })
    })

  const begin: Begin = async (work, mode = 'write') => {
    const budget = currentBudget()
    const now = performance.now()
    const leftMs = budget ? Math.min(limits.waitMs, beginWait(budget, now)) : limits.waitMs
    try {
      const accountId = currentAccount()
      const connection = await take(Math.max(1, leftMs), mode, accountId)
      const remainingMs = Math.max(1, leftMs - (performance.now() - now))
      try {
        return await runOn(connection, work, mode, remainingMs, budget !== undefined)
      } finally {
        release(connection, accountId)
      }
    } finally {
      if (budget) endWait(budget, performance.now())
    }
  }

  /**
   * @param timeoutMs time limit of the wait for the connection
   * @param includesCommit whether the time limit covers the whole transaction, COMMIT included
   */
  const runOn = async <T>(
    connection: TransactionConnection,
    work: (db: Db) => Promise<T>,
    mode: TransactionMode,
    timeoutMs: number,
    includesCommit: boolean,
  ): Promise<T> => {
    const limit = mode === 'write' ? limitOn(connection, limits.writeMs) : NO_LIMIT
    const timer = setTimeout(() => connection.abort(tookTooLong()), timeoutMs).unref()
    const transaction = async () => {
      const { limitsTransactions } = await connected(connection)
      if (!includesCommit) clearTimeout(timer)
      // Not awaited: the work's first statement follows in the same packet. If BEGIN fails, the server
      // rejects the work's writes, because they are outside of a transaction.
      const begun = connection.sql
        .unsafe(MODES[mode] + (limitsTransactions ? limit.onServer : ''))
        .then(
          (results) => {
            // The session keeps the setting that it began with.
            if (!results.flat().some(({ readOnly }) => readOnly === 'on')) return
            stale.add(connection)
            throw new DatabaseUnavailable(
              'The database is read-only: default_transaction_read_only is on.',
            )
          },
          (cause) => {
            if (cause.code !== REFUSED_BY_STANDBY) throw cause
            stale.add(connection)
            throw new DatabaseUnavailable('The database is a read-only standby.', { cause })
          },
        )
      begun.catch(() => {})
      limit.start()
      try {
        const result = await work(connection.sql)
        await begun
        limit.check()
        await commit(connection)
        return result
      } catch (error) {
        // If BEGIN failed, its error is the cause of the others.
        await begun
        throw error
      }
    }
    try {
      return await connection.unlessClosed(transaction())
    } catch (error) {
      await rollBack(connection)
      throw error
    } finally {
      clearTimeout(timer)
      limit.stop()
    }
  }

  return {
    begin,
    async end() {
      hasEnded = true
      circuit.close()
      committing.forget()
      for (const waiter of waiting) waiter.fail(connectionsClosed())
      await Promise.all([...open].map(({ sql }) => sql.end({ timeout: 5 })))
    },
  }
}

/** Numbers of something that accounts have. Without an account, nothing is counted. */
function countsOfAccounts() {
  const counts = new Map<number, number>()
  const of = (accountId: number | undefined) =>
    accountId === undefined ? 0 : (counts.get(accountId) ?? 0)
  return {
    of,
    add(accountId: number | undefined, number: 1 | -1) {
      if (accountId === undefined) return
      const sum = of(accountId) + number
      if (sum === 0) counts.delete(accountId)
      else counts.set(accountId, sum)
    },
  }
}

async function commit(connection: TransactionConnection): Promise<void> {
  // On a new connection COMMIT would succeed without effect, and an aborted transaction must not be committed.
  if (connection.closed) throw connection.closed
  await connection.commit()
}

async function rollBack(connection: TransactionConnection): Promise<void> {
  if (connection.closed) return
  await connection.unlessClosed(connection.sql.unsafe('rollback')).catch(connection.abort)
}

/** Runs `work` in a savepoint: if it throws, its changes are rolled back and the transaction can go on. */
export async function savepoint<T>(db: Db, work: (db: Db) => Promise<T>): Promise<T> {
  // Not awaited, like BEGIN.
  const begun = db.unsafe('savepoint part').catch((cause) => {
    if (cause.code !== OUTSIDE_TRANSACTION) throw cause
    // BEGIN may not have been awaited yet, as in a request with a transaction of its own.
    throw new DatabaseUnavailable('The transaction could not begin.', { cause })
  })
  begun.catch(() => {})
  try {
    const result = await work(db)
    await begun
    await db.unsafe('release savepoint part')
    return result
  } catch (error) {
    // If creating the savepoint failed, rolling back would undo the outer savepoint, which has the same name.
    await begun
    await db.unsafe('rollback to savepoint part; release savepoint part')
    throw error
  }
}
