import type { Context } from '../context.ts'
import { sendMail } from '../mail/outbox.ts'
import { listMembers, type Member } from '../members/members.ts'
import { changedPassword } from '../members/sign-in.ts'
import { endGrantsOfMember } from '../oauth/grants.ts'

/**
 * Ends the access of the first member's programs after the operator has set or removed the password, as after a forgotten
 * one: a thief may have allowed them. Tells a member whose password was replaced. Runs in the transaction of the change,
 * which keeps the member from being removed.
 *
 * @param former the members before the change
 */
export async function passwordChanged(
  tx: Context,
  accountId: number,
  former: Member[],
): Promise<void> {
  const [first] = await listMembers(tx, accountId)
  if (!first) return
  await endGrantsOfMember(tx, first.id)
  const hadPassword = former.some(({ id, isInvited }) => id === first.id && !isInvited)
  if (hadPassword && !first.isInvited) await sendMail(tx, changedPassword(tx, first.email))
}
