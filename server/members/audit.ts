import { recordAudit } from '../audit/record.ts'
import type { Context } from '../context.ts'
import { DAYS } from '../time/units.ts'

/** Writes a sign-in event to the audit log. `member` is null if the request has not proved to come from a member. */
export const recordSignInEvent = (
  ctx: Pick<Context, 'db' | 'now'>,
  action: string,
  member: { id: number; email: string } | null,
  {
    requestId,
    ...more
  }: { requestId: string | null; record?: string; before?: object; after?: object },
): Promise<void> =>
  recordAudit(ctx, {
    actor: member ? `member:${member.id}` : 'anonymous',
    actorName: member?.email ?? null,
    role: member ? 'seller' : 'anonymous',
    action,
    record: member ? `member:${member.id}` : null,
    requestId,
    ...more,
  })

/**
 * The addresses that the account or one of its members had in the last 30 days and that were replaced, as far as the
 * audit log reaches back. It is the only record of them.
 */
export async function formerEmails(
  { db, now }: Pick<Context, 'db' | 'now'>,
  accountId: number,
): Promise<string[]> {
  const replaced = await db<{ email: string }[]>`
    select distinct before ->> 'email' as email
    from audit_entries
    where
      record in (
        select ${`account:${accountId}`}
        union all
        select 'member:' || id from members where account_id = ${accountId}
      )
      and created_at > ${new Date(now().getTime() - 30 * DAYS)}
      and before ->> 'email' <> after ->> 'email'
    order by email
  `
  return replaced.map(({ email }) => email)
}
