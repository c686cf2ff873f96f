import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../log.ts'

const MAX_TRIES = 10
const RETRY_MS = 1_000

/**
 * Retries the write that records the outcome of a job while the database is unavailable: a job whose outcome isn't
 * recorded runs again.
 *
 * @param warning the log's message about the first failure
 */
export async function persistently(
  { log }: { log: Pick<Log, 'warn'> },
  warning: string,
  write: () => Promise<void>,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await write()
    } catch (error) {
      if (tries === MAX_TRIES) throw error
      if (tries === 1) log.warn({ err: error }, warning)
      await sleep(RETRY_MS)
    }
  }
}
