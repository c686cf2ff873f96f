import { type Logger, pino } from 'pino'
import postgres from 'postgres'
import type { Config } from './config.ts'

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'fatal'>

/** One write per line would cost as much as the request: lines are written in batches of this size, or after this time. */
const BATCH_BYTES = 8 * 1024
const FLUSH_INTERVAL_MS = 50

/**
 * Opens the log: one JSON object per line on standard error, written in the background. Standard output is for
 * people. `flush` writes the rest at the end of the process.
 */
export function createLog(level: Config['logLevel']): { log: Log; flush: () => void } {
  const destination = pino.destination({
    fd: 2,
    sync: false,
    minLength: BATCH_BYTES,
    periodicFlush: FLUSH_INTERVAL_MS,
  })
  const serializers = { err: (error: unknown) => loggableError(error) }
  const timestamp = pino.stdTimeFunctions.isoTime
  const log = pino({ level, base: null, timestamp, serializers }, destination)
  return {
    log,
    flush() {
      try {
        destination.flushSync()
      } catch {
        // Best effort: standard error may be closed already.
      }
    },
  }
}

/** SQLSTATE classes whose messages name objects and limits, never values: those of data (22) and of users (P0) do. */
const SAFE_CLASSES = /^(08|23|25|40|53|55|57|58|XX)/

const DEPTH = 4

/**
 * An error as the log shows it: named fields alone. An error of the database carries the rejected row (`detail`,
 * `where`, `internal_query`) and the statement's values, one of a mail server its recipients; none of them belongs there.
 */
export function loggableError(error: unknown, depth = DEPTH): unknown {
  if (!(error instanceof Error)) return { type: typeof error }
  const fields = error as Error & Record<string, unknown>
  return defined({
    type: error.name,
    message: isSafe(error) ? error.message : 'withheld: it can hold values',
    code: text(fields.code),
    schema: text(fields.schema_name),
    table: text(fields.table_name),
    column: text(fields.column_name),
    constraint: text(fields.constraint_name),
    routine: text(fields.routine),
    syscall: text(fields.syscall),
    outcome: text(fields.outcome),
    status: number(fields.status),
    responseCode: number(fields.responseCode),
    stack: framesOf(error),
    cause:
      error.cause === undefined || depth === 0 ? undefined : loggableError(error.cause, depth - 1),
  })
}

/** A mail server's answer names the recipient; its code is enough. */
function isSafe(error: Error): boolean {
  if (error instanceof postgres.PostgresError) return SAFE_CLASSES.test(error.code)
  return !('responseCode' in error)
}

/** Where it was thrown. The stack begins with the message, which may have to be withheld. */
const framesOf = ({ stack }: Error) =>
  stack
    ?.split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n')

const text = (value: unknown) => (typeof value === 'string' ? value : undefined)
const number = (value: unknown) => (typeof value === 'number' ? value : undefined)
const defined = (fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
