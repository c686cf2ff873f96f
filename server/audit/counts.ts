import type { Context } from '../context.ts'
import { addNewRows, isUncounted, type SummedRows } from '../database/new-rows.ts'
import type { Db, Fragment } from '../database/sql.ts'

/**
 * The kept numbers of entries of the audit log (docs/counts.md). They are kept for each actor, role and action, because
 * one of these can have millions of entries.
 */

const AUDIT_ENTRIES: SummedRows = {
  table: 'audit_entries',
  state: 'audit_count_state',
  add: (db, isInBatch) => db`
    insert into audit_counts
    ${numbersIn(db, db`(select actor, role, action from audit_entries where ${isInBatch})`)}
    order by field, value
    on conflict (field, value) do update
    set number = audit_counts.number + excluded.number
  `,
}

const numbersIn = (db: Db, entries: Fragment) => db`
  select field, value, count(*) as number
  from ${entries} entries
  cross join lateral (
    values ('all', ''), ('actor', actor), ('role', role), ('action', action)
  ) counted (field, value)
  group by field, value
`

/** Adds the new entries to the kept numbers. */
export const countAudit = (ctx: Context): Promise<void> => addNewRows(ctx, AUDIT_ENTRIES)

/** SQL for the number of entries with this value: the kept number, and the entries since. */
export const numberOfEntries = (db: Db, field: string, value: string, isMatch: Fragment) => db`
  coalesce(
    (select number from audit_counts where field = ${field} and value = ${value}), 0
  )
  + (select count(*) from audit_entries where ${isUncounted(db, AUDIT_ENTRIES)} and ${isMatch})
`

/** Deletes at most `max` entries from before a time, and subtracts those that were counted. Returns their number. */
export async function deleteEntries(db: Db, before: Date, max: number): Promise<number> {
  // No entry is counted meanwhile.
  await db`select from audit_count_state for update`
  const [deleted] = await db<{ number: number }[]>`
    with deleted as (
      delete from audit_entries
      -- By row address, known from the lock: no search, whatever number of rows the planner expects.
      where ctid = any(array(
        select ctid
        from audit_entries
        where created_at < ${before}
        order by created_at
        limit ${max}
        for update
      ))
      returning id, actor, role, action
    ),
    subtracted as (
      update audit_counts
      set number = audit_counts.number - gone.number
      from (
        ${numbersIn(db, db`(select * from deleted where id < (select counted_to from audit_count_state))`)}
      ) gone
      where audit_counts.field = gone.field and audit_counts.value = gone.value
    )
    select count(*) as number from deleted
  `
  return deleted!.number
}
