import type { Context } from '../context.ts'
import { type Page, readPage } from '../database/paging.ts'
import { endOfSecond } from '../time/storable-time.ts'
import { numberOfEntries } from './counts.ts'

/** An entry of the audit log. */
export type AuditEntry = {
  id: number
  actor: string
  actorName: string | null
  role: string
  action: string
  record: string | null
  before: object | null
  after: object | null
  requestId: string | null
  createdAt: Date
}

type AuditFilters = {
  actor?: string | undefined
  role?: string | undefined
  action?: string | undefined
  record?: string | undefined
  from?: Date | undefined
  /** Includes its second. */
  to?: Date | undefined
}

/** One page of entries, newest first, and the total. */
export const listAudit = (
  ctx: Context,
  { actor, role, action, record, from, to }: AuditFilters,
  page: Page,
): Promise<{ rows: AuditEntry[]; total: number }> =>
  readPage(ctx, page, (db) => {
    const isMatch = db`
      true
      ${actor === undefined ? db`` : db`and actor = ${actor}`}
      ${role === undefined ? db`` : db`and role = ${role}`}
      ${action === undefined ? db`` : db`and action = ${action}`}
      ${record === undefined ? db`` : db`and record = ${record}`}
      ${from === undefined ? db`` : db`and created_at >= ${from}`}
      ${to === undefined ? db`` : db`and created_at < ${endOfSecond(to)}`}
    `
    const wanted = Object.entries({ actor, role, action }).filter(
      ([, value]) => value !== undefined,
    )
    const [field, value] = wanted[0] ?? ['all', '']
    const isKept = wanted.length <= 1 && (record ?? from ?? to) === undefined
    const total = isKept
      ? numberOfEntries(db, field, value ?? '', isMatch)
      : db`(select count(*) from audit_entries where ${isMatch})`
    return {
      total: db<{ total: number }[]>`select ${total} as total`,
      rows: ({ size, skipped, fromEnd, isShort }) => {
        // The indexes of the filtered columns are ordered by id; that of `created_at` finds a period.
        const isByTime = from ?? to
        const order = isByTime
          ? db`created_at ${fromEnd ? db`` : db`desc`}, id ${fromEnd ? db`` : db`desc`}`
          : db`id ${fromEnd ? db`` : db`desc`}`
        return db<AuditEntry[]>`
          select
            id,
            actor,
            actor_name as "actorName",
            role,
            action,
            record,
            before,
            after,
            request_id as "requestId",
            created_at as "createdAt"
          from (
            select *
            from audit_entries
            where ${isMatch}
            -- The filters find the entries of a short list, as they do for its total.
            ${isShort && !isKept ? db`offset 0` : db``}
          ) matching
          order by ${order}
          limit ${size}
          offset ${skipped}
        `
      },
    }
  })
