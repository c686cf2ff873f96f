import type { Context } from '../context.ts'
import { inBatches } from '../database/batches.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { DAYS } from '../time/units.ts'
import { deleteEntries } from './counts.ts'
import { withoutSecrets } from './secrets.ts'

/** An action of staff, a member or the back end. */
export type NewAuditEntry = {
  /** `operator` for the operator token, else `staff:3` or `member:7`; `anonymous` for a failed sign-in. */
  actor: string
  actorName?: string | null
  role: string
  action: string
  /** `order:501`; null if the action is about no single record. */
  record: string | null
  before?: object | null
  after?: object | null
  requestId: string | null
}

/** Writes an entry of the audit log, inside the transaction of the action if there is one. Removes secrets. */
export const recordAudit = (
  ctx: Pick<Context, 'db' | 'now'>,
  entry: NewAuditEntry,
): Promise<void> => recordAudits(ctx, [entry])

/** Writes the entries of several actions with one statement. */
export async function recordAudits(
  { db, now }: Pick<Context, 'db' | 'now'>,
  entries: NewAuditEntry[],
): Promise<void> {
  if (entries.length === 0) return
  const texts = (pick: (entry: NewAuditEntry) => string | null | undefined) =>
    entries.map((entry) => pick(entry) ?? null)
  await db`
    insert into audit_entries (
      actor, actor_name, role, action, record, before, after, request_id, created_at
    )
    select
      actor, actor_name, role, action, record, before::jsonb, after::jsonb, request_id,
      ${now()}::timestamptz
    -- The transaction gets its number before the ids: the numbers of entries are kept in this order (counts.ts).
    from pg_current_xact_id() cross join unnest(
      ${texts(({ actor }) => actor)}::text[],
      ${texts(({ actorName }) => actorName)}::text[],
      ${texts(({ role }) => role)}::text[],
      ${texts(({ action }) => action)}::text[],
      ${texts(({ record }) => record)}::text[],
      ${texts(({ before }) => stored(before))}::text[],
      ${texts(({ after }) => stored(after))}::text[],
      ${texts(({ requestId }) => requestId)}::text[]
    ) with ordinality as entry (
      actor, actor_name, role, action, record, before, after, request_id, index
    )
    order by index
  `
}

/** The notes of actions that this process carries out. */
const running = new Set<number>()

/**
 * Notes an action of several transactions before its first one, so that a crash cannot hide it.
 *
 * @returns the id for `endAudit`
 */
export async function beginAudit(
  { db, now }: Pick<Context, 'db' | 'now'>,
  { actor, actorName, role, action, record, before, requestId }: NewAuditEntry,
): Promise<number> {
  const [begun] = await db<[{ id: number }]>`
    insert into unfinished_audit_entries (
      actor, actor_name, role, action, record, before, request_id, created_at
    )
    values (
      ${actor}, ${actorName ?? null}, ${role}, ${action}, ${record}, ${stored(before)}::text::jsonb,
      ${requestId}, ${now()}
    )
    returning id
  `
  running.add(begun.id)
  return begun.id
}

/** Replaces the note of `beginAudit` with the entry, or removes it after an action that failed. */
export async function endAudit(ctx: Context, id: number, entry?: NewAuditEntry): Promise<void> {
  abandonAudit(id)
  await inTransaction(ctx, async (tx) => {
    await tx.db`delete from unfinished_audit_entries where id = ${id}`
    if (entry) await recordAudit(tx, entry)
  })
}

/** Leaves the note of an action whose outcome is unknown: it becomes an entry an hour later. */
export const abandonAudit = (id: number): void => {
  running.delete(id)
}

/**
 * Writes the entries of actions that a crash has interrupted. Each process runs this several times an hour, and first
 * renews the notes of the actions that it is carrying out. A note that was not renewed for an hour of real time
 * belongs to such an action.
 */
export async function recordInterrupted({ db }: Context): Promise<void> {
  await db`
    update unfinished_audit_entries
    set begun_at = now()
    where id = any(${[...running]}::bigint[])
  `
  await db`
    with interrupted as (
      delete from unfinished_audit_entries
      where begun_at < now() - interval '1 hour'
      returning *
    )
    insert into audit_entries (
      actor, actor_name, role, action, record, before, after, request_id, created_at
    )
    select
      actor, actor_name, role, action, record, before, '{"interrupted": true}', request_id,
      created_at
    from interrupted
    order by id
  `
}

/** A larger state, such as the result of a bulk write, is left out. */
const MAX_STATE_LENGTH = 32_768

function stored(state: object | null | undefined): string | null {
  if (!state) return null
  const json = JSON.stringify(withoutSecrets(state))
  return json.length <= MAX_STATE_LENGTH ? json : '{"omitted": "larger than 32 KiB"}'
}

/** Deletes entries older than `AUDIT_RETENTION_DAYS`. */
export async function pruneAudit({ config, now, begin }: Context): Promise<void> {
  const before = new Date(now().getTime() - config.auditRetentionDays * DAYS)
  await inBatches((max) =>
    begin(async (db) => {
      await db`select set_config('cardstall.prunes_audit_entries', 'on', true)`
      return deleteEntries(db, before, max)
    }),
  )
}
