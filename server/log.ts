import { pino } from 'pino'
import type { Config } from './config.ts'
import type { Log } from './context.ts'

/**
 * The log: one JSON object a line on standard error, written in the background. Standard output belongs to what
 * is meant for people. `flush` writes what is left, for the end of the process.
 */
export function createLog(level: Config['logLevel']): { log: Log; flush: () => void } {
  const destination = pino.destination({ fd: 2, sync: false })
  const log = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination)
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
