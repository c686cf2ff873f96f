import type { Db, Fragment } from '../database/sql.ts'
import { endOfSecond, storableTime } from '../time/storable-time.ts'

/**
 * Two transactions that were open at the same time can have ids in the opposite order. They end within 10 s. If the clocks
 * of two processes differ by more, or the sandbox's clock jumps during a transaction, a total can count a delivery that
 * its list leaves out.
 */
const MARGIN_MS = 60_000

/** A condition on `deliveries`. Ids bound the rows that it reads; a delivery has the time of its event. */
export const isInPeriod = (db: Db, from?: Date, to?: Date): Fragment =>
  db`${hasTime(db, from, to)} and ${hasIds(db, MARGIN_MS, from, to)}`

/** The same condition for a count: an index of ids has most of the period, and only rows near its ends are read. */
export function isInPeriodById(db: Db, from?: Date, to?: Date): Fragment {
  if (!from && !to) return db`true`
  return db`
    ${hasIds(db, MARGIN_MS, from, to)}
    and (
      (${hasIds(db, -MARGIN_MS, from, to)})
      -- A scalar subquery looks up one row. For EXISTS the planner could read all deliveries.
      or (select ${hasTime(db, from, to)} from deliveries margin where margin.id = deliveries.id)
    )
  `
}

function hasTime(db: Db, from?: Date, to?: Date) {
  return db`
    true
    ${from ? db`and created_at >= ${from}` : db``}
    ${to ? db`and created_at < ${endOfSecond(to)}` : db``}
  `
}

/** Whether the id is one of a period that is longer by a margin at both ends, or shorter by a negative one. */
function hasIds(db: Db, margin: number, from?: Date, to?: Date) {
  const firstSince = (time: number) => db`(select first_delivery_since(${storableTime(time)}))`
  return db`
    true
    ${from ? db`and id >= ${firstSince(from.getTime() - margin)}` : db``}
    ${to ? db`and id < ${firstSince(endOfSecond(to).getTime() + margin)}` : db``}
  `
}
