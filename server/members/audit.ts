import { recordAudit } from '../audit/record.ts'
import type { Context } from '../context.ts'

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
