import postgres from 'postgres'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Db } from '../database/sql.ts'
import { authenticationError, notFound, validationError } from '../errors.ts'
import { sendMail } from '../mail/outbox.ts'
import { invitationEmail } from './emails.ts'
import { createLink } from './links.ts'
import { isPassword } from './password.ts'
import { revokeSessions } from './sessions.ts'

/** A person who signs in for an account. */
export type Member = {
  id: number
  email: string
  /** Whether the member has no password yet: the invitation is still open. */
  isInvited: boolean
  createdAt: Date
}

/**
 * Invites a person to an account with a link that is valid for 7 days. Inviting an invited person again replaces the
 * link. An account that was closed can list cards again.
 *
 * @throws not_found for an unknown account, validation_error for the address of another member
 */
export function inviteMember(ctx: Context, accountId: number, email: string): Promise<Member> {
  return inTransaction(ctx, async (tx) => {
    const { db, now } = tx
    // Like the closing of an account, locks the account before the member, and as strongly as `openAgain` needs it.
    const [account] = await db<{ shopName: string }[]>`
      select shop_name as "shopName" from accounts where id = ${accountId} for no key update
    `
    if (!account) throw notFound('There is no such account.')
    const [member] = await db<Member[]>`
      insert into members (account_id, email, created_at)
      values (${accountId}, ${email}, ${now()})
      on conflict (lower(email)) do update
      set email = excluded.email
      where members.account_id = excluded.account_id and members.password_hash is null
      returning ${memberColumns(db)}
    `
    if (!member) throw emailTaken()
    await openAgain(db, accountId)
    const link = await createLink(tx, member.id, 'invitation')
    const signIn = `${tx.config.publicUrl}/signin`
    await sendMail(tx, invitationEmail(email, account.shopName, link, signIn))
    return member
  })
}

/** The account's members, oldest first. */
export const listMembers = ({ db }: Context, accountId: number): Promise<Member[]> =>
  db<Member[]>`
    select ${memberColumns(db)}
    from members
    where account_id = ${accountId}
    order by id
  `

/**
 * Removes a member inside the caller's transaction. Their sessions end at once.
 *
 * @param also another change, after the member is locked: a password reset locks the member before their grants
 * @throws not_found for another account's member
 */
export async function removeMember(
  { db }: Pick<Context, 'db'>,
  accountId: number,
  memberId: number,
  also: () => Promise<unknown> = async () => {},
): Promise<void> {
  const { count } = await db`
    select from members where id = ${memberId} and account_id = ${accountId} for update
  `
  if (count === 0) throw notFound('There is no such member.')
  await also()
  await db`delete from members where id = ${memberId}`
}

/**
 * Keeps a member who is signed in from being removed until the transaction ends.
 *
 * @throws authentication_error if the member was removed after the request was admitted
 */
export async function keepMember({ db }: Pick<Context, 'db'>, memberId: number): Promise<void> {
  const { count } = await db`select from members where id = ${memberId} for key share`
  if (count === 0) throw authenticationError('You are no longer a member of this shop.')
}

/**
 * Sets or removes the password of the account's first member, and ends that member's sessions and links. An account
 * without members gets one who signs in with the account's e-mail address. The caller holds the account's lock.
 *
 * @throws validation_error if that address belongs to a member of another account
 */
export async function setFirstPassword(
  { db, now }: Pick<Context, 'db' | 'now'>,
  account: { id: number; email: string },
  passwordHash: string | null,
): Promise<void> {
  const [first] = await db<{ id: number }[]>`
    select id from members where account_id = ${account.id} order by id limit 1
  `
  if (first) {
    await writePassword(db, first.id, passwordHash)
  } else if (passwordHash !== null) {
    // A concurrent change may have added the member since the query above.
    const [member] = await db<{ id: number }[]>`
      insert into members (account_id, email, created_at)
      values (${account.id}, ${account.email}, ${now()})
      on conflict (lower(email)) do update
      set email = excluded.email
      where members.account_id = excluded.account_id
      returning id
    `
    if (!member) throw emailTaken()
    await openAgain(db, account.id)
    await writePassword(db, member.id, passwordHash)
  }
}

/** Lets an account that was closed list cards again. The caller has locked the account before its member. */
const openAgain = (db: Db, accountId: number) => db`
  update accounts set closed_at = null where id = ${accountId} and closed_at is not null
`

/** Sets a password, and ends the member's links and sessions, except the given one. */
export async function writePassword(
  db: Db,
  memberId: number,
  passwordHash: string | null,
  exceptSession?: number,
): Promise<void> {
  await db`update members set password_hash = ${passwordHash} where id = ${memberId}`
  await revokeSessions({ db }, memberId, exceptSession)
  // A link that was used for this has expired already: a second request of a double click finds it.
  await db`
    delete from member_tokens where member_id = ${memberId} and expires_at > clock_timestamp()
  `
}

/** Converts violations of the unique e-mail address, or of a shop's unique slug, to validation errors. */
export async function refuseTaken<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const constraint = error instanceof postgres.PostgresError ? error.constraint_name : undefined
    if (constraint === 'members_email_taken' || constraint === 'accounts_email_taken') {
      throw emailTaken()
    }
    if (constraint === 'accounts_slug_taken') {
      throw validationError({ slug: ['The slug has already been taken.'] })
    }
    throw error
  }
}

const memberColumns = (db: Db) => db`
  members.id,
  members.email,
  members.password_hash is null as "isInvited",
  members.created_at as "createdAt"
`

const emailTaken = () => validationError({ email: ['The email has already been taken.'] })

/**
 * @returns the hash of the password of a member who is signed in
 * @throws validation_error if the text is not this password
 */
export async function requireMemberPassword(
  { db }: Pick<Context, 'db'>,
  memberId: number,
  text: string,
): Promise<string> {
  const [member] = await db<{ hash: string | null }[]>`
    select password_hash as hash from members where id = ${memberId}
  `
  const isRight = await isPassword(text, member?.hash ?? null)
  if (!isRight) throw wrongPassword()
  return member!.hash!
}

export const wrongPassword = () => validationError({ password: ['The password is wrong.'] })
