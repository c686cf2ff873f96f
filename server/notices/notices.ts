import type { Context } from '../context.ts'
import { type Page, readNewestPage } from '../database/paging.ts'
import { notFound } from '../errors.ts'

/** The facts of each kind of notice, with the names of the API. */
export type NoticeFacts = {
  /** The subject is the endpoint (§3.4). */
  endpoint_disabled: { url: string; reason: string }
  /** The subject is the key. */
  key_rotated: { name: string | null; prefix: string; previous_expires_at: string }
  /** Sums up all photos that failed; the facts are those of the last one. */
  photo_failed: { listing_id: number; reason: string }
}

export type NoticeKind = keyof NoticeFacts

/** Something that a seller should know, shown in the dashboard until it is dismissed. */
export type Notice = {
  id: number
  kind: NoticeKind
  subjectId: number
  data: NoticeFacts[NoticeKind]
  /** The number of occurrences since it was dismissed. */
  count: number
  createdAt: Date
}

/** Writes a notice in the transaction of its cause. It replaces one about the same subject, and counts on from it with a new id. */
export async function addNotice<K extends NoticeKind>(
  { db, now }: Pick<Context, 'db' | 'now'>,
  accountId: number,
  kind: K,
  subjectId: number,
  facts: NoticeFacts[K],
): Promise<void> {
  await db`
    insert into notices (account_id, kind, subject_id, data, created_at)
    values (${accountId}, ${kind}, ${subjectId}, ${JSON.stringify(facts)}::text::jsonb, ${now()})
    on conflict on constraint notices_one_per_subject do update
    set
      -- A seller who dismisses the earlier occurrence hasn't seen this one.
      id = default,
      data = excluded.data,
      count = notices.count + 1,
      created_at = excluded.created_at
  `
}

/** Removes a notice that is no longer true. */
export async function withdrawNotice(
  { db }: Pick<Context, 'db'>,
  accountId: number,
  kind: NoticeKind,
  subjectId: number,
): Promise<void> {
  await db`
    delete from notices
    where account_id = ${accountId} and kind = ${kind} and subject_id = ${subjectId}
  `
}

/** Lists the account's notices, latest first: one for each subject, until it is dismissed. */
export const listNotices = (
  ctx: Context,
  accountId: number,
  page: Page,
): Promise<{ rows: Notice[]; total: number }> =>
  readNewestPage(
    ctx,
    page,
    (db) => db`
      select id
      from notices
      -- Earlier versions wrote that one. The Overview shows the state of the payout setup instead.
      where account_id = ${accountId} and kind <> 'payout_setup_missing'
    `,
    (db, ids) => db<Notice[]>`
      select id, kind, subject_id as "subjectId", data, count, created_at as "createdAt"
      from notices
      where id = any(${ids}::bigint[])
      order by id desc
    `,
  )

/** Deletes a notice that the seller has read. @throws not_found unless it is the account's and has not happened again */
export async function dismissNotice({ db }: Context, accountId: number, id: number): Promise<void> {
  const { count } = await db`delete from notices where id = ${id} and account_id = ${accountId}`
  if (count === 0) throw notFound('This notice was dismissed before, or has happened again.')
}
