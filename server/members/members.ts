import type { Context } from '../context.ts'
import { revokeSessions } from './sessions.ts'

/**
 * Sets or removes the password of the account's first member, and ends that member's sessions and links. An account
 * without members gets one who signs in with the account's e-mail address.
 *
 * @throws the database's violation of members_email_taken
 */
export async function setFirstPassword(
  { db, now }: Pick<Context, 'db' | 'now'>,
  account: { id: number; email: string },
  passwordHash: string | null,
): Promise<void> {
  const [first] = await db<{ id: number }[]>`
    update members
    set password_hash = ${passwordHash}
    where id = (select id from members where account_id = ${account.id} order by id limit 1)
    returning id
  `
  if (first) {
    await revokeSessions({ db }, first.id)
    await db`delete from member_tokens where member_id = ${first.id}`
  } else if (passwordHash !== null) {
    await db`
      insert into members (account_id, email, password_hash, created_at)
      values (${account.id}, ${account.email}, ${passwordHash}, ${now()})
    `
  }
}
