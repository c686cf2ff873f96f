import { type Budget, beginWait, currentBudget, endWait } from './budget.ts'
import type { Circuit } from './circuit.ts'
import type { Sql } from './sql.ts'
import { follow, handlerOf, redirected, type Statement } from './statements.ts'
import { DatabaseUnavailable, isLoss } from './unavailable.ts'

export type PoolLimits = {
  /** From a statement's beginning until it has been answered, the wait for a connection included. */
  statementMs: number
  /** A statement that waits for so long makes the database suspect. */
  suspectMs: number
  /** Statements that wait or run at a time; further ones fail at once. */
  maxStatements: number
}

export const POOL_LIMITS: PoolLimits = {
  statementMs: 10_000,
  suspectMs: 2_000,
  maxStatements: 1_000,
}

/** Statements sent on one connection without waiting for the ones before. */
const MAX_PIPELINED = 8

/** The server ends a statement at its own limit, and the connection survives that: it gets this long to say so. */
const GRACE_MS = 1_000

const SWEEP_EVERY_MS = 100

/** A statement that was begun and has not been answered. */
type Running = {
  statement: Statement
  /** Fails the caller. The statement itself may go on. */
  fail(error: unknown): void
  deadline: number
  startedAt: number
  budget: Budget | undefined
  isOver: boolean
}

/** A client with a single connection, which is never used again once that was lost. */
type Connection = {
  sql: Sql
  handler: Statement['handler']
  running: Set<Running>
  isReady: boolean
  /** Rows are read batch by batch on it: statements sent meanwhile would wait for the last batch. */
  isReading: boolean
}

/**
 * A pool for single statements. The client's own pool connects again after pauses that grow with each failure of any
 * connection, so it stays away for up to 20 s longer than the database; it sets no limit to waiting; and a server that
 * stands still holds up every caller. Here each connection is a client of its own: a lost one is replaced at once, a
 * database that is away fails statements at once, and each statement has a time limit by our clock.
 *
 * @param open opens a single connection, and reports its loss
 */
export function poolOf(
  open: (onclose: () => void) => Sql,
  max: number,
  circuit: Circuit,
  { statementMs, suspectMs, maxStatements }: PoolLimits = POOL_LIMITS,
): Sql {
  const all = new Set<Running>()
  const waiting = new Set<Running>()
  const connections = new Set<Connection>()
  /** They count no more: the database went away. They are closed once what runs on them has ended. */
  const stale = new Set<Connection>()
  const idle: Connection[] = []
  let ending: Promise<void> | undefined
  let drained = () => {}

  const handle = (statement: Statement): void => {
    const refused = refusal()
    if (refused) {
      statement.reject(refused)
      return
    }
    const running = start(statement)
    const free = idle.pop()
    if (!free && connections.size < max) addConnection()
    const next = free ?? leastBusy()
    if (next) send(running, next)
    else waiting.add(running)
  }

  const refusal = (): Error | undefined => {
    if (ending) return new DatabaseUnavailable('The connections to the database are closed.')
    if (circuit.away) return circuit.away
    if (all.size < maxStatements) return undefined
    return new DatabaseUnavailable('Too many statements wait for the database already.')
  }

  const start = (statement: Statement): Running => {
    const now = performance.now()
    const budget = statement.cursorFn ? undefined : currentBudget()
    const leftMs = budget ? Math.min(statementMs, beginWait(budget, now)) : statementMs
    const running: Running = {
      statement,
      fail: statement.reject,
      deadline: now + leftMs,
      startedAt: now,
      budget,
      isOver: false,
    }
    all.add(running)
    return running
  }

  const end = (running: Running): void => {
    if (running.isOver) return
    running.isOver = true
    all.delete(running)
    waiting.delete(running)
    if (running.budget) endWait(running.budget, performance.now())
    if (all.size === 0) drained()
  }

  const send = (running: Running, connection: Connection): void => {
    const { statement } = running
    connection.running.add(running)
    if (statement.cursorFn) connection.isReading = true
    const ended = (error?: unknown) => {
      connection.running.delete(running)
      if (statement.cursorFn) connection.isReading = false
      end(running)
      // The client fails its statements a moment before it reports the loss: nothing may be sent meanwhile.
      if (error !== undefined && isLoss(error)) remove(connection)
      else circuit.answered()
      release(connection)
    }
    follow(statement, ended, () => {
      circuit.answered()
      running.startedAt = performance.now()
      running.deadline = running.startedAt + statementMs
    })
    connection.handler(statement)
  }

  /** Sends on a connection that has room what waits. */
  const release = (connection: Connection): void => {
    if (!connections.has(connection)) {
      if (connection.running.size === 0) close(connection)
      return
    }
    if (!connection.isReady || connection.isReading) return
    const share = Math.min(MAX_PIPELINED, Math.ceil(waiting.size / connections.size))
    for (const running of waiting) {
      if (connection.running.size >= share || connection.isReading) break
      waiting.delete(running)
      send(running, connection)
    }
    if (connection.running.size === 0) idle.push(connection)
  }

  const leastBusy = (): Connection | undefined => {
    let least: Connection | undefined
    for (const connection of connections) {
      const { isReady, isReading, running } = connection
      if (!isReady || isReading || running.size >= MAX_PIPELINED) continue
      if (!least || running.size < least.running.size) least = connection
    }
    return least
  }

  const addConnection = (): void => {
    const sql = open(() => lost(connection))
    const connection: Connection = {
      sql,
      handler: handlerOf(sql),
      running: new Set(),
      isReady: false,
      isReading: false,
    }
    connections.add(connection)
    // Statements wait until it's there: the client would fail only the first one when it can't connect.
    sql.unsafe('select 1').then(
      () => {
        connection.isReady = true
        circuit.answered()
        release(connection)
      },
      (error) => couldNotConnect(connection, error),
    )
  }

  const couldNotConnect = (connection: Connection, cause: unknown): void => {
    const counted = connections.has(connection)
    remove(connection)
    // Where others work there are too many of them, or this one was out of luck: they take what waits.
    if (ending || !counted || [...connections].some(({ isReady }) => isReady)) return
    circuit.failed(cause)
  }

  const lost = (connection: Connection): void => {
    remove(connection)
    const error = new DatabaseUnavailable('The connection to the database was lost.')
    for (const { statement } of connection.running) statement.reject(error)
  }

  const remove = (connection: Connection): void => {
    const counted = connections.delete(connection)
    const place = idle.indexOf(connection)
    if (place >= 0) idle.splice(place, 1)
    close(connection)
    // Waiting statements may have waited for this connection alone.
    if (counted && connection.isReady && waiting.size > connections.size) addConnection()
  }

  const close = (connection: Connection): void => {
    stale.delete(connection)
    void connection.sql.end({ timeout: 0 }).catch(() => {})
  }

  const failWaiting = (error: Error): void => {
    for (const running of waiting) {
      end(running)
      running.fail(error)
    }
  }

  circuit.on((away) => {
    // Running statements may still be answered, but nothing more is sent there: the connections may be dead without knowing it.
    for (const connection of connections) {
      stale.add(connection)
      connections.delete(connection)
      if (connection.running.size === 0) close(connection)
    }
    idle.length = 0
    failWaiting(away)
  })

  const sweepEvery = Math.min(SWEEP_EVERY_MS, statementMs / 5)
  let sweptAt = performance.now()
  const sweep = (): void => {
    const now = performance.now()
    // While this process stood still it couldn't read answers either: that time is not the database's.
    const stoodStillMs = Math.max(0, now - sweptAt - 2 * sweepEvery)
    sweptAt = now
    let isSlow = false
    for (const running of all) {
      running.startedAt += stoodStillMs
      running.deadline += stoodStillMs
      if (now - running.startedAt > suspectMs) isSlow = true
      if (now < running.deadline) continue
      end(running)
      running.fail(new DatabaseUnavailable('The database did not answer in time.'))
    }
    if (isSlow) circuit.suspect()
    for (const connection of [...connections, ...stale]) {
      for (const { deadline } of connection.running) {
        if (now >= deadline + GRACE_MS) {
          lost(connection)
          break
        }
      }
    }
  }
  const timer = setInterval(sweep, sweepEvery).unref()

  const base = open(() => {})
  const finish = async (timeoutMs: number | undefined): Promise<void> => {
    if (all.size > 0) {
      const isDrained = new Promise<void>((resolve) => {
        drained = resolve
        if (timeoutMs !== undefined) setTimeout(resolve, timeoutMs)
      })
      await isDrained
    }
    clearInterval(timer)
    circuit.close()
    failWaiting(new DatabaseUnavailable('The connections to the database are closed.'))
    const open = [...connections, ...stale].map(({ sql }) => sql)
    await Promise.all([base, ...open].map((sql) => sql.end({ timeout: 0 }).catch(() => {})))
  }

  return Object.assign(redirected(base, handle), {
    end({ timeout }: { timeout?: number } = {}) {
      ending ??= finish(timeout === undefined ? undefined : timeout * 1000)
      return ending
    },
  })
}
