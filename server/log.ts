import { pino } from 'pino'
import type { Config } from './config.ts'
import type { Log } from './context.ts'
import { loggableError } from './log-error.ts'
import { realTime } from './sandbox/clock.ts'

/** Lines are written together once there are so many bytes, or after so many milliseconds: a write for each would
 * cost as much as the request it tells of. */
const BATCH_BYTES = 8 * 1024
const FLUSH_EVERY_MS = 50

/**
 * The log: one JSON object a line on standard error, written in the background. Standard output belongs to what
 * is meant for people. `flush` writes what is left, for the end of the process.
 */
export function createLog(level: Config['logLevel']): { log: Log; flush: () => void } {
  const destination = pino.destination({
    fd: 2,
    sync: false,
    minLength: BATCH_BYTES,
    periodicFlush: FLUSH_EVERY_MS,
  })
  const serializers = { err: (error: unknown) => loggableError(error) }
  const log = pino({ level, base: null, timestamp: isoTime(), serializers }, destination)
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

/** The real time, as ISO 8601; many lines fall into one millisecond. */
function isoTime(): () => string {
  let last = 0
  let text = ''
  return () => {
    const now = realTime()
    if (now !== last) {
      last = now
      text = `,"time":"${new Date(now).toISOString()}"`
    }
    return text
  }
}
