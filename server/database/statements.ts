import type postgres from 'postgres'
import type { Sql } from './sql.ts'

/**
 * The internals of a statement of postgres.js 3.4 that this file relies on. A tagged template creates a statement. When
 * it is awaited, it passes itself to `handler`; a fragment of another statement never does.
 */
export type Statement = {
  handler(statement: Statement): unknown
  resolve(rows: unknown): void
  reject(error: unknown): void
  /** Set for cursors: the client then replaces `resolve` and `reject` for each batch of rows. */
  cursorFn?: unknown
}

const isStatement = (value: unknown): value is Statement =>
  typeof value === 'object' && value !== null && 'handler' in value

/** The handler that sends a client's statements on its connection. */
export const handlerOf = (sql: Sql): Statement['handler'] =>
  (sql.unsafe('') as unknown as Statement).handler

/** The same client, but its statements pass themselves to `handler`. */
export function withHandler(sql: Sql, handler: Statement['handler']): Sql {
  const redirect = <T>(value: T): T => {
    if (isStatement(value)) value.handler = handler
    return value
  }
  const tag = (first: TemplateStringsArray, ...rest: never[]) =>
    redirect((sql as (...args: unknown[]) => unknown)(first, ...rest))
  const unsafe = (...args: Parameters<postgres.ISql['unsafe']>) => redirect(sql.unsafe(...args))
  return Object.assign(tag, sql, { unsafe }) as unknown as Sql
}

/**
 * Observes a statement.
 *
 * @param ended called when the statement has ended, before its caller is notified; with the error if it failed. It can
 *   return another error for the caller
 * @param nextBatch called when a cursor requests its next batch of rows
 */
export function observe(
  statement: Statement,
  ended: (error?: unknown) => unknown,
  nextBatch: () => void,
): void {
  let { resolve, reject } = statement
  const resolved = (rows: unknown) => {
    ended()
    resolve(rows)
  }
  const rejected = (error: unknown) => {
    reject(ended(error) ?? error)
  }
  if (!statement.cursorFn)
    return void Object.assign(statement, { resolve: resolved, reject: rejected })
  Object.defineProperties(statement, {
    resolve: {
      get: () => resolved,
      set: (next) => {
        resolve = next
        nextBatch()
      },
    },
    reject: {
      get: () => rejected,
      set: (next) => {
        reject = next
      },
    },
  })
}
