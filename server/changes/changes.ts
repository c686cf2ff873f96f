import type { Context } from '../context.ts'
import { deleteInBatches } from '../database/batches.ts'
import type { Db, Fragment } from '../database/sql.ts'
import { cursorExpired, serviceUnavailable, validationError } from '../errors.ts'
import { realTime } from '../time/real-time.ts'
import { DAYS } from '../time/units.ts'
import { waitUntil } from '../time/wait-until.ts'

/**
 * The change feed: every change of a seller's listings and orders since a cursor (docs/change-feed.md). It is in the order
 * of transaction ids. A page ends before the oldest transaction that is still running, so that no change can appear
 * behind a cursor.
 */

export const CHANGE_KINDS = ['listing', 'order'] as const
export type ChangeKind = (typeof CHANGE_KINDS)[number]

export type Change = {
  kind: ChangeKind
  recordId: number
  change: 'created' | 'updated' | 'deleted'
}

/** A position in the feed: all changes up to this transaction and row have been read. */
export type Position = {
  /** A 64-bit integer as text. */
  xid: string
  id: number
}

export type Cursor = Position & {
  registration: number
  /** When it was issued or, while older changes are left, the one from which catching up began. */
  issuedAt: Date
  /** When the row was written: a restored database has no such row. Undefined if the account has no row yet. */
  writtenAt: Micros | undefined
}

/** Microseconds since 1970 (UTC) as text. */
type Micros = string

/** Changes that one page reads. */
const MAX_CHANGES = 100
const CURSOR_LIFETIME_MS = 30 * DAYS
/** `read_at` is at most this old, so that reading seldom writes. */
const READ_AT_PRECISION_MS = 1 * DAYS
const REGISTRATION_LIFETIME_MS = CURSOR_LIFETIME_MS + READ_AT_PRECISION_MS
/** Writes end within 10 s (database/time-limit.ts), but other databases of the same server share the transaction ids. */
const MAX_WAIT_FOR_WRITERS_MS = 8_000

/** A cursor as clients get it. */
export const cursorText = ({ registration, xid, id, issuedAt, writtenAt }: Cursor) =>
  [
    registration,
    xid,
    id,
    Math.floor(issuedAt.getTime() / 1000),
    ...(writtenAt ? [writtenAt] : []),
  ].join('-')

/** Parses the result of `cursorText`. @throws validation_error for any other text */
export function readCursor(text: string): Cursor {
  const match =
    /^([1-9]\d{0,14})-(0|[1-9]\d{0,17})-(0|[1-9]\d{0,14})-([1-9]\d{8,9})(?:-([1-9]\d{0,17}))?$/.exec(
      text,
    )
  if (!match) throw cursorInvalid()
  const [, registration, xid, id, seconds, writtenAt] = match
  return {
    registration: Number(registration),
    xid: xid!,
    id: Number(id),
    issuedAt: new Date(Number(seconds) * 1000),
    writtenAt,
  }
}

/**
 * Registers an account as a follower, and returns a cursor that every later change follows.
 *
 * @throws service_unavailable if other transactions run for too long
 */
export async function startFollowing(ctx: Context, accountId: number): Promise<Cursor> {
  const { db, now } = ctx
  const [follower] = await db<{ registration: number }[]>`
    insert into change_followers (account_id, read_at)
    values (${accountId}, ${now()})
    on conflict (account_id) do update set read_at = excluded.read_at
    returning registration
  `
  const start = await positionAfterWriters(ctx)
  // Nothing is between the last change and the start. With the change, a restored database that lacks it is recognized.
  const [found] = await db<{ last: Row | null }[]>`
    select ${lastBefore(db, accountId, db`${start.xid}::xid8`)} as last
  `
  return {
    registration: follower!.registration,
    ...(found!.last ? positionOf(found!.last) : { ...start, writtenAt: undefined }),
    issuedAt: now(),
  }
}

/**
 * Waits for the transactions that may not have seen the registration, because they wrote nothing into the feed. Each has
 * a lower number than a transaction that begins now. The upper limit of a snapshot would not do: it follows the last
 * transaction that has ended, so it can be lower than the number of a running one.
 */
async function positionAfterWriters({ db }: Context): Promise<Position> {
  const [next] = await db<{ xid: string }[]>`select pg_current_xact_id()::text as xid`
  const position = await waitUntil(MAX_WAIT_FOR_WRITERS_MS, async () => {
    const [ended] = await db<{ xid: string }[]>`
      select pg_snapshot_xmin(pg_current_snapshot())::text as xid
      where pg_snapshot_xmin(pg_current_snapshot()) >= ${next!.xid}::xid8
    `
    return ended && { xid: ended.xid, id: 0 }
  })
  if (!position) throw serviceUnavailable('Other changes take long. Try again.')
  return position
}

export type ChangesPage = {
  /** Each record once, at its last change, oldest first. */
  changes: Change[]
  next: Cursor
  hasMore: boolean
}

/**
 * The changes of an account after a cursor.
 *
 * @throws cursor_expired if changes may be missing
 */
export async function readChanges(
  ctx: Context,
  accountId: number,
  cursor: Cursor,
  kinds: readonly ChangeKind[],
): Promise<ChangesPage> {
  const { db, now } = ctx
  const [state] = await db<
    { registration: number; readAt: Date; end: string; isLost: boolean; last: Row | null }[]
  >`
    select
      registration,
      read_at as "readAt",
      running_from::text as end,
      ${cursor.xid}::xid8 > running_from
      or (
        ${cursor.writtenAt ?? null}::bigint is not null
        and not exists (
          select
          from changes
          where
            account_id = ${accountId}
            and xid = ${cursor.xid}::xid8
            and id = ${cursor.id}
            and ${writtenAt(db)} = ${cursor.writtenAt ?? null}::bigint
        )
      ) as "isLost",
      ${lastBefore(db, accountId, db`running_from`)} as last
    from change_followers
    cross join (select pg_snapshot_xmin(pg_current_snapshot()) as running_from) snapshot
    where account_id = ${accountId}
  `
  const issuedAt = now()
  const isOld = issuedAt.getTime() - cursor.issuedAt.getTime() > CURSOR_LIFETIME_MS
  if (!state || state.registration !== cursor.registration || isOld) throw cursorExpired()
  if (state.isLost) {
    // A backup was restored. The cursor must not become valid again once the transaction ids have reached it.
    // Another program of the account may have registered again meanwhile.
    await db`
      delete from change_followers
      where account_id = ${accountId} and registration = ${cursor.registration}
    `
    throw cursorExpired()
  }
  if (issuedAt.getTime() - state.readAt.getTime() > READ_AT_PRECISION_MS) {
    await db`update change_followers set read_at = ${issuedAt} where account_id = ${accountId}`
  }
  const rows = await db<(Change & Row)[]>`
    select
      xid, id, ${writtenAt(db)}::text as "writtenAt", kind, record_id as "recordId", change
    from changes
    where
      account_id = ${accountId}
      and (xid, id) > (${cursor.xid}::xid8, ${cursor.id}::bigint)
      and xid < ${state.end}::xid8
      and kind = any(${[...kinds]}::text[])
    order by xid, id
    limit ${MAX_CHANGES + 1}
  `
  const page = rows.slice(0, MAX_CHANGES)
  const hasMore = rows.length > page.length
  // Unread changes are as old as the cursor from which catching up began.
  const next: Cursor = hasMore
    ? { ...cursor, ...positionOf(page.at(-1)!) }
    : { ...cursor, ...(state.last && positionOf(state.last)), issuedAt }
  return { changes: lastOfEach(page), next, hasMore }
}

/** A row of the feed: its position, and when it was written. */
type Row = Position & { writtenAt: Micros }

const positionOf = ({ xid, id, writtenAt }: Row): Row => ({ xid, id, writtenAt })

/** The last change of an account before a transaction, as JSON of a `Row`. */
const lastBefore = (db: Db, accountId: number, xid: Fragment) => db`(
  select json_build_object('xid', changes.xid, 'id', id, 'writtenAt', ${writtenAt(db)}::text)
  from changes
  where account_id = ${accountId} and changes.xid < ${xid}
  order by changes.xid desc, id desc
  limit 1
)`

/** `created_at` of a row of `changes` as microseconds. */
const writtenAt = (db: Db) => db`(extract(epoch from created_at) * 1000000)::bigint`

/** A record that was created in this page stays created, unless it is deleted. */
function lastOfEach(changes: Change[]): Change[] {
  const byRecord = new Map<string, Change>()
  for (const { kind, recordId, change } of changes) {
    const key = `${kind} ${recordId}`
    const isNew = change === 'updated' && byRecord.get(key)?.change === 'created'
    byRecord.delete(key)
    byRecord.set(key, { kind, recordId, change: isNew ? 'created' : change })
  }
  return [...byRecord.values()]
}

/** Whether each of these accounts has a change after its position. */
export async function haveChanges(
  { db }: Pick<Context, 'db'>,
  positions: { accountId: number; position: Position }[],
): Promise<boolean[]> {
  const rows = await db<{ hasChanges: boolean }[]>`
    select
      -- Unlike EXISTS, in the order of the account's index: with few accounts, the planner expects to meet a row soon
      -- without it, and mostly reads the whole table.
      (
        select c.id
        from changes c
        where
          c.account_id = waiting.account_id
          and (c.xid, c.id) > (waiting.xid, waiting.id)
          and c.xid < pg_snapshot_xmin(pg_current_snapshot())
        order by c.xid, c.id
        limit 1
      ) is not null as "hasChanges"
    from
      unnest(
        ${positions.map(({ accountId }) => accountId)}::bigint[],
        ${positions.map(({ position }) => position.xid)}::text[]::xid8[],
        ${positions.map(({ position }) => position.id)}::bigint[]
      ) with ordinality as waiting (account_id, xid, id, number)
    order by waiting.number
  `
  return rows.map(({ hasChanges }) => hasChanges)
}

/**
 * Deletes the changes that no valid cursor precedes, and the registrations that were not read for as long as a cursor is
 * valid. The newest old change of each follower stays: until the next change, every new cursor pointed to it.
 */
export async function pruneChanges({ db, now }: Context): Promise<void> {
  await endRestored(db)
  await db`
    delete from change_followers
    where read_at < ${new Date(now().getTime() - REGISTRATION_LIFETIME_MS)}
  `
  const before = new Date(realTime() - REGISTRATION_LIFETIME_MS)
  const [newest] = await db<{ xid: string }[]>`
    select xid from changes where created_at < ${before} order by created_at desc limit 1
  `
  if (!newest) return
  await deleteInBatches(db, 'changes', {
    where: db`
      created_at < ${before}
      and (
        not exists (
          select from change_followers f where f.account_id = changes.account_id
        )
        or (
          select later.id
          from changes later
          where
            later.account_id = changes.account_id
            and (later.xid, later.id) > (changes.xid, changes.id)
            -- Without an end, all later changes of a follower would be read for the one that stays.
            and later.xid <= ${newest.xid}::xid8
            and later.created_at < ${before}
          -- In the order of the account's index, as in haveChanges.
          order by later.xid, later.id
          limit 1
        ) is not null
      )
    `,
    orderBy: 'created_at',
  })
}

/**
 * Ends the registrations whose changes have transaction ids that this server has not reached: a dump of another server
 * was restored. Their cursors would miss changes once the ids have passed them.
 */
async function endRestored(db: Db): Promise<void> {
  const isAhead = db`xid >= pg_snapshot_xmax(pg_current_snapshot())`
  const ended = await db<{ accountId: number }[]>`
    delete from change_followers
    where (
      select id
      from changes
      where changes.account_id = change_followers.account_id and ${isAhead}
      order by xid, id
      limit 1
    ) is not null
    returning account_id as "accountId"
  `
  if (ended.length === 0) return
  await deleteInBatches(db, 'changes', {
    where: db`account_id = any(${ended.map(({ accountId }) => accountId)}::bigint[]) and ${isAhead}`,
    orderBy: 'account_id',
  })
}

const cursorInvalid = () =>
  validationError({ cursor: ['The cursor field must be the `next` of an earlier response.'] })
