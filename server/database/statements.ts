import type postgres from 'postgres'
import type { Sql } from './sql.ts'

/**
 * A statement of the client (postgres.js 3.4), as far as it's taken hold of here. A tagged text becomes one, which
 * does nothing until it's awaited; then it hands itself to `handler`. A part of another statement never does.
 */
export type Statement = {
  handler(statement: Statement): unknown
  resolve(rows: unknown): void
  reject(error: unknown): void
  /** Set where rows are read batch by batch: then `resolve` and `reject` change with each batch. */
  cursorFn?: unknown
}

const isStatement = (made: unknown): made is Statement =>
  typeof made === 'object' && made !== null && 'handler' in made

/** How the statements of a client reach its connection. */
export const handlerOf = (sql: Sql): Statement['handler'] =>
  (sql.unsafe('') as unknown as Statement).handler

/** The same client, whose statements hand themselves to `handler` instead. */
export function redirected(sql: Sql, handler: Statement['handler']): Sql {
  const redirect = <T>(made: T): T => {
    if (isStatement(made)) made.handler = handler
    return made
  }
  const tag = (first: TemplateStringsArray, ...rest: never[]) =>
    redirect((sql as (...all: unknown[]) => unknown)(first, ...rest))
  const unsafe = (...all: Parameters<postgres.ISql['unsafe']>) => redirect(sql.unsafe(...all))
  return Object.assign(tag, sql, { unsafe }) as unknown as Sql
}

/**
 * Calls `ended` when the statement has ended, before its caller hears of it: with its error, if it failed. Where rows are
 * read batch by batch it calls `renewed` when the next batch is asked for.
 */
export function follow(
  statement: Statement,
  ended: (error?: unknown) => void,
  renewed: () => void,
): void {
  let { resolve, reject } = statement
  const resolved = (rows: unknown) => {
    ended()
    resolve(rows)
  }
  const rejected = (error: unknown) => {
    ended(error)
    reject(error)
  }
  if (!statement.cursorFn)
    return void Object.assign(statement, { resolve: resolved, reject: rejected })
  Object.defineProperties(statement, {
    resolve: {
      get: () => resolved,
      set: (next) => {
        resolve = next
        renewed()
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
