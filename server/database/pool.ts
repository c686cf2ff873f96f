import { type Budget, beginWait, currentBudget, endWait } from './budget.ts'
import type { Circuit } from './circuit.ts'
import type { Sql } from './sql.ts'
import { handlerOf, observe, type Statement, withHandler } from './statements.ts'
import {
  connectionsClosed,
  DatabaseUnavailable,
  isConnectionLoss,
  isReadOnly,
  tookTooLong,
} from './unavailable.ts'

export type PoolLimits = {
  /** Time limit of a statement, the wait for a connection included. */
  statementMs: number
  /** A statement without a response for this long makes the database suspect. */
  suspectMs: number
  /** Statements that may wait or run at the same time; further ones fail at once. */
  maxStatements: number
}

export const POOL_LIMITS: PoolLimits = {
  statementMs: 10_000,
  suspectMs: 2_000,
  maxStatements: 1_000,
}

/** Statements that may be in flight on one connection. */
const MAX_PIPELINED = 8

/** A statement that has taken this long may wait for a lock or read much: nothing is sent behind it. */
const SLOW_MS = 20

/** Time after its limit in which the server may still cancel a statement itself, which keeps the connection. */
const GRACE_MS = 1_000

const SWEEP_INTERVAL_MS = 100

/** Minimum time between two replacements of all connections, while the server is a standby. */
const RETIRE_INTERVAL_MS = 1_000

/** A statement without a result yet: waiting for a connection, or sent. */
type Running = {
  statement: Statement
  /** Rejects the caller's promise. The statement may still be running on the server. */
  fail(error: unknown): void
  deadline: number
  startedAt: number
  budget: Budget | undefined
  isOver: boolean
}

/** A client with a single connection. It is discarded once that connection is lost. */
type Connection = {
  sql: Sql
  handler: Statement['handler']
  running: Set<Running>
  /** When the server could begin with the first of them. */
  busySince: number
  isReady: boolean
  /** A cursor is open on it: statements sent now would wait for its last batch. */
  hasCursor: boolean
}

/**
 * A pool for single statements. The client's own pool has three problems: its reconnect backoff grows with each failure
 * of any connection, so that an outage lasts up to 20 s longer than the database's; waiting has no time limit; and a
 * frozen server blocks every caller. Here each connection is a client of its own. A lost connection is replaced at
 * once, statements fail at once while the circuit is open, and each statement has a time limit of this process.
 *
 * @param open opens a single connection; calls `onclose` when it is lost
 * @param first the first statement on each connection
 */
export function poolOf(
  open: (onclose: () => void) => Sql,
  first: string,
  max: number,
  circuit: Circuit,
  { statementMs, suspectMs, maxStatements }: PoolLimits = POOL_LIMITS,
): Sql {
  const all = new Set<Running>()
  const waiting = new Set<Running>()
  const connections = new Set<Connection>()
  /**
   * Connections from before the circuit opened, or to a standby. They don't count, and are closed when their statements
   * have ended.
   */
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
    let next = idle.pop()
    if (!next) {
      // While the pool can grow, no statement is queued behind another, which may wait for a lock: it is sent on the
      // first connection that becomes free.
      if (connections.size < max) addConnection()
      else next = leastBusy()
    }
    // First come, first served: a statement of a busy process must not overtake one that waits.
    waiting.add(running)
    if (next) sendFirst(next)
  }

  const refusal = (): Error | undefined => {
    if (ending) return connectionsClosed()
    if (circuit.unavailable) return circuit.unavailable
    if (all.size < maxStatements) return undefined
    return new DatabaseUnavailable('Too many statements are waiting for the database.')
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
    if (connection.running.size === 0) connection.busySince = performance.now()
    connection.running.add(running)
    if (statement.cursorFn) connection.hasCursor = true
    const ended = (error?: unknown) => {
      connection.running.delete(running)
      connection.busySince = performance.now()
      if (statement.cursorFn) connection.hasCursor = false
      end(running)
      // The client rejects statements before it reports the loss: nothing may be sent on the connection in between.
      if (error !== undefined && isConnectionLoss(error)) remove(connection)
      else circuit.answered()
      if (isReadOnly(error)) retireFromStandby()
      release(connection)
    }
    observe(statement, ended, () => {
      circuit.answered()
      running.startedAt = performance.now()
      running.deadline = running.startedAt + statementMs
    })
    connection.handler(statement)
  }

  const sendFirst = (connection: Connection): void => {
    const [running] = waiting
    waiting.delete(running!)
    send(running!, connection)
  }

  /** Sends waiting statements on a connection that has capacity. */
  const release = (connection: Connection): void => {
    if (!connections.has(connection)) {
      if (connection.running.size === 0) close(connection)
      return
    }
    if (!connection.isReady || connection.hasCursor) return
    const share = Math.min(MAX_PIPELINED, Math.ceil(waiting.size / connections.size))
    while (waiting.size > 0 && connection.running.size < share && !connection.hasCursor) {
      sendFirst(connection)
    }
    if (connection.running.size === 0) idle.push(connection)
  }

  const leastBusy = (): Connection | undefined => {
    let least: Connection | undefined
    const slowSince = performance.now() - SLOW_MS
    for (const connection of connections) {
      const { isReady, hasCursor, running, busySince } = connection
      if (!isReady || hasCursor || running.size >= MAX_PIPELINED || busySince < slowSince) continue
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
      busySince: 0,
      isReady: false,
      hasCursor: false,
    }
    connections.add(connection)
    // Statements wait until it is open: if the client cannot connect, it rejects only the first statement.
    sql.unsafe(first).then(
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
    // While other connections work, the database is up: it may have reached its connection limit.
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
    const index = idle.indexOf(connection)
    if (index >= 0) idle.splice(index, 1)
    close(connection)
    // The waiting statements may depend on this connection alone: the others may be slow.
    const opening = [...connections].filter(({ isReady }) => !isReady)
    if (counted && connection.isReady && waiting.size > opening.length) addConnection()
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

  /** Running statements may still succeed. Nothing more is sent on these connections. */
  const retireAll = (): void => {
    for (const connection of connections) {
      stale.add(connection)
      connections.delete(connection)
      if (connection.running.size === 0) close(connection)
    }
    idle.length = 0
  }

  circuit.onOpen((reason) => {
    // The connections may be dead without a sign.
    retireAll()
    failWaiting(reason)
  })

  let retiredAt = Number.NEGATIVE_INFINITY
  const retireFromStandby = (): void => {
    // Not for every write that it refuses: reads go on meanwhile.
    if (performance.now() - retiredAt < RETIRE_INTERVAL_MS) return
    retiredAt = performance.now()
    retireAll()
    while (connections.size < Math.min(max, waiting.size)) addConnection()
  }

  const sweepIntervalMs = Math.min(SWEEP_INTERVAL_MS, statementMs / 5)
  let sweptAt = performance.now()
  const sweep = (): void => {
    const now = performance.now()
    // A paused process reads no responses: the pause must not count against the database.
    const pausedMs = Math.max(0, now - sweptAt - 2 * sweepIntervalMs)
    sweptAt = now
    let isSlow = false
    for (const running of all) {
      running.startedAt += pausedMs
      running.deadline += pausedMs
      if (now - running.startedAt > suspectMs) isSlow = true
      if (now < running.deadline) continue
      end(running)
      running.fail(tookTooLong())
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
  const timer = setInterval(sweep, sweepIntervalMs).unref()

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
    failWaiting(connectionsClosed())
    const open = [...connections, ...stale].map(({ sql }) => sql)
    await Promise.all([base, ...open].map((sql) => sql.end({ timeout: 0 }).catch(() => {})))
  }

  return Object.assign(withHandler(base, handle), {
    end({ timeout }: { timeout?: number } = {}) {
      ending ??= finish(timeout === undefined ? undefined : timeout * 1000)
      return ending
    },
  })
}
