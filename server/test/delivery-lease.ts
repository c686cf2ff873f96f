import { expect } from 'vitest'
import type { Db } from '../database/sql.ts'

const MARGIN_S = 20

/** Does work that claims a delivery, and expects a lease for the timeout of an attempt plus 20 seconds of real time. */
export async function expectLease<T>(
  db: Db,
  timeoutMs: number,
  work: () => Promise<T>,
): Promise<T> {
  const [before] = await db<{ now: Date }[]>`select clock_timestamp() as now`
  const result = await work()
  const leases = await db<{ began: Date; now: Date }[]>`
    select
      leased_until - make_interval(secs => ${timeoutMs / 1000 + MARGIN_S}) as began,
      clock_timestamp() as now
    from delivery_queue
    where leased_until is not null
  `
  expect(leases).toHaveLength(1)
  const [lease] = leases
  expect(lease!.began.getTime()).toBeGreaterThanOrEqual(before!.now.getTime())
  expect(lease!.began.getTime()).toBeLessThanOrEqual(lease!.now.getTime())
  return result
}
