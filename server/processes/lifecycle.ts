import type { Config } from '../config.ts'
import { createLog, type Log } from '../log.ts'

/** Functions that close what was opened. They are called in reverse order when the process ends. */
export type Closers = (() => unknown)[]

export type Started = {
  log: Log
  closers: Closers
  /** Ends the process with exit code 1. */
  fail(): void
}

/**
 * Runs `start`, waits until a signal or a failure ends the process, and closes everything that was opened, even if the
 * start fails half-way.
 *
 * @param options.survives handles an uncaught error if the process can go on
 * @returns the exit code
 */
export async function runUntilStopped(
  { logLevel, processes }: Pick<Config, 'logLevel' | 'processes'>,
  start: (started: Started) => Promise<void>,
  {
    warnings,
    survives = () => false,
  }: { warnings: string[]; survives?: (kind: string, error: unknown, log: Log) => boolean },
): Promise<number> {
  const { log, flush } = createLog(logLevel, processes > 1 ? { pid: process.pid } : null)
  for (const warning of warnings) log.warn(warning)
  // A reader of the output that goes away, such as `head`, doesn't end the service.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {})
  const closers: Closers = [flush]
  const end = Promise.withResolvers<number>()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // npm forwards signals that the terminal has already sent: the second one has no effect.
    process.on(signal, () => {
      log.info({ signal }, 'stopping')
      end.resolve(0)
    })
  }
  for (const kind of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(kind, (error) => {
      if (survives(kind, error, log)) return
      log.fatal({ err: error }, kind)
      end.resolve(1)
    })
  }
  try {
    const started = start({ log, closers, fail: () => end.resolve(1) })
    const code = await Promise.race([end.promise, started.then(() => end.promise)])
    // A start that a signal interrupted fails when its database is closed: that error must not be reported.
    started.catch(() => {})
    return code
  } finally {
    for (const close of closers.reverse()) {
      try {
        await close()
      } catch (error) {
        log.warn({ err: error }, 'an error occurred during the shutdown')
      }
    }
  }
}
