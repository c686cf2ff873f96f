import type { Context } from '../context.ts'
import { sendMail } from '../mail/outbox.ts'
import type { Member } from '../members/members.ts'
import { changedPassword } from '../members/sign-in.ts'
import { endGrantsOfMember } from '../oauth/grants.ts'

/**
 * Ends the access of the member's programs after the operator has set or removed the password, as after a forgotten one: a
 * thief may have allowed them. Tells a member whose password was replaced. The caller has locked the member.
 */
export async function passwordChanged(
  tx: Context,
  { id, email, isInvited }: Member,
  isRemoved: boolean,
): Promise<void> {
  await endGrantsOfMember(tx, id)
  if (!isInvited && !isRemoved) await sendMail(tx, changedPassword(tx, email))
}
