import { write, writeSync } from 'node:fs'
import { type Logger, pino } from 'pino'
import postgres from 'postgres'
import type { Config } from './config.ts'
import { realTime } from './time/real-time.ts'

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'fatal'> & {
  /** Writes the line of a response, as `info` would: `message` is the status in words. */
  response(fields: ResponseFields, message: string | undefined): void
}

/**
 * `account` is the seller whose key, token or session sent the request, and `ms` the time from the request to the end of
 * its response.
 */
export type ResponseFields = {
  reqId: string
  account?: number | undefined
  method: string
  path: string
  status: number
  ms: number
}

/** Lines are written in batches of this length, or after this time: one write per line would cost as much as a request. */
const BATCH_LENGTH = 16 * 1024
const FLUSH_INTERVAL_MS = 50
/** Characters that wait for a reader that is slow or has stopped; further lines are lost. */
const MAX_WAITING_LENGTH = 4 * 1024 * 1024

/**
 * Opens the log, which writes one JSON object per line to standard error in the background. Standard output is for
 * people. Call `flush` at the end of the process.
 *
 * @param base fields of every line, which distinguish the processes that share standard error
 */
export function createLog(
  level: Config['logLevel'],
  base: object | null = null,
): { log: Log; flush: () => void } {
  const destination = openDestination(base ? PIPE_BUF : Number.POSITIVE_INFINITY, (lost) =>
    logger.warn({ lost }, 'lines of the log were lost, because its reader is too slow'),
  )
  const serializers = { err: (error: unknown) => loggableError(error) }
  const timestamp = pino.stdTimeFunctions.isoTime
  const logger: Logger = pino({ level, base, timestamp, serializers }, destination)
  const log = Object.assign(logger, { response: responseLog(logger, base, destination) })
  return {
    log,
    flush: destination.flushSync,
  }
}

/**
 * Standard error, in the background and in batches. pino's destination measures its whole batch again for each line, and
 * its last write waits forever for a reader that has gone or a disk that is full: here such lines are lost.
 *
 * @param maxBytes of one write, which ends with a line unless that is longer
 * @param resumed called with the number of lost lines once there is room again
 */
function openDestination(maxBytes: number, resumed: (lost: number) => void) {
  let lines = ''
  /** Lines for which there was no room. */
  let lost = 0
  /** The bytes of a batch that the operating system has not taken yet. */
  let unwritten: Buffer | undefined
  /** Set while they wait for a slow reader. */
  let retry: NodeJS.Timeout | undefined

  const nextLength = (bytes: Buffer) => {
    if (bytes.length <= maxBytes) return bytes.length
    return bytes.lastIndexOf('\n', maxBytes - 1) + 1 || bytes.indexOf('\n') + 1 || bytes.length
  }
  const writeRest = () => {
    retry = undefined
    write(STDERR, unwritten!, 0, nextLength(unwritten!), null, (error, length) => {
      if (error?.code === 'EAGAIN') {
        retry = setTimeout(writeRest, BUSY_RETRY_MS).unref()
        return
      }
      unwritten = error || length === unwritten!.length ? undefined : unwritten!.subarray(length)
      if (unwritten) writeRest()
      else if (lines.length >= BATCH_LENGTH) passOn()
    })
  }
  const passOn = () => {
    if (unwritten || lines === '') return
    unwritten = Buffer.from(lines)
    lines = ''
    if (lost > 0) {
      resumed(lost)
      lost = 0
    }
    writeRest()
  }
  /** A batch that is being written in the background is left to the operating system. */
  const flushSync = () => {
    let rest = Buffer.from(lines)
    lines = ''
    if (retry) {
      clearTimeout(retry)
      retry = undefined
      rest = Buffer.concat([unwritten!, rest])
      unwritten = undefined
    }
    const giveUpAt = performance.now() + MAX_FLUSH_MS
    while (rest.length > 0) {
      try {
        rest = rest.subarray(writeSync(STDERR, rest, 0, nextLength(rest)))
      } catch (error) {
        const isBusy = (error as NodeJS.ErrnoException).code === 'EAGAIN'
        if (!isBusy || performance.now() > giveUpAt) return
        Atomics.wait(NOTHING, 0, 0, BUSY_RETRY_MS)
      }
    }
  }
  process.once('exit', flushSync)
  setInterval(passOn, FLUSH_INTERVAL_MS).unref()
  return {
    write(line: string) {
      if (lines.length >= MAX_WAITING_LENGTH) {
        lost++
        return
      }
      lines += line
      if (lines.length >= BATCH_LENGTH) passOn()
    },
    flushSync,
  }
}

const STDERR = 2
/** The system doesn't mix a write of this length to a pipe with those of other processes. */
const PIPE_BUF = 4_096
/** A pipe whose reader is slow is full for a while. */
const BUSY_RETRY_MS = 10
const MAX_FLUSH_MS = 1_000
const NOTHING = new Int32Array(new SharedArrayBuffer(4))

/** Writes pino's line for these fields. pino's own, general serialisation costs several times as much. */
function responseLog(
  logger: Logger,
  base: object | null,
  destination: { write(line: string): unknown },
): Log['response'] {
  const level = logger.levels.values.info
  const bindings = Object.entries(base ?? {})
    .map(([name, value]) => `,"${name}":${JSON.stringify(value)}`)
    .join('')
  let second = Number.NaN
  let time = ''
  return ({ reqId, account, method, path, status, ms }, message) => {
    if (!logger.isLevelEnabled('info')) return
    const now = realTime()
    if (Math.floor(now / 1000) !== second) {
      second = Math.floor(now / 1000)
      time = new Date(now).toISOString().slice(0, -4)
    }
    const millisecond = String(now % 1000).padStart(3, '0')
    const sender = account === undefined ? '' : `,"account":${account}`
    destination.write(
      `{"level":${level},"time":"${time}${millisecond}Z"${bindings},"reqId":"${reqId}"${sender},"method":"${method}","path":${JSON.stringify(path)},"status":${status},"ms":${ms},"msg":"${message}"}\n`,
    )
  }
}

/**
 * SQLSTATE classes, and the code of a missing privilege, whose messages never contain values; those of data exceptions
 * (22) and of PL/pgSQL (P0) may.
 */
const SAFE_STATES = /^(08|23|25|40|42501|53|55|57|58|XX)/

const MAX_CAUSES = 4

/**
 * The fields of an error that may be logged. Database errors also contain the rejected row (`detail`, `where`,
 * `internal_query`) and the statement's values, and errors of a mail server the recipients: these are never logged.
 */
export function loggableError(error: unknown, depth = MAX_CAUSES): unknown {
  if (!(error instanceof Error)) return { type: typeof error }
  const fields = error as Error & Record<string, unknown>
  return defined({
    type: error.name,
    message: isSafe(error) ? error.message : 'withheld: it may contain values',
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

/**
 * A mail server's response names the recipient, so only its code is logged. The message about a text that isn't JSON, such as
 * a carrier's response, quotes the text.
 */
function isSafe(error: Error): boolean {
  if (error instanceof postgres.PostgresError) return SAFE_STATES.test(error.code)
  return !('responseCode' in error || error instanceof SyntaxError)
}

/** The stack without its message, which may contain values. */
const framesOf = ({ stack }: Error) =>
  stack
    ?.split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n')

const text = (value: unknown) => (typeof value === 'string' ? value : undefined)
const number = (value: unknown) => (typeof value === 'number' ? value : undefined)
const defined = (fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
