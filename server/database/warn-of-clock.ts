import type { Log } from '../log.ts'
import { realTime } from '../time/real-time.ts'
import type { Db } from './sql.ts'

const MAX_DIFFERENCE_S = 60

/**
 * Warns if the clock of this machine differs from that of the database by more than a minute: one of them is wrong, and all
 * dates and deadlines follow that of this machine.
 */
export async function warnOfClock({ db, log }: { db: Db; log: Pick<Log, 'warn'> }): Promise<void> {
  const [row] = await db<{ at: Date }[]>`select clock_timestamp() as at`
  const seconds = Math.round((realTime() - row!.at.getTime()) / 1000)
  if (Math.abs(seconds) <= MAX_DIFFERENCE_S) return
  log.warn(
    { seconds },
    'the clock of this machine differs from that of the database (docs/operating.md#the-clock)',
  )
}
