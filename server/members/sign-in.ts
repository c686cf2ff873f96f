import type { Context } from '../context.ts'
import { deleteInBatches } from '../database/batches.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Db } from '../database/sql.ts'
import { authenticationError } from '../errors.ts'
import { sendMail } from '../mail/outbox.ts'
import { canonicalAddress } from '../text/mailbox.ts'
import { isStorable } from '../text/storable.ts'
import { recordSignInEvent } from './audit.ts'
import { confirmEmail, emailChangedEmail, passwordChangedEmail, resetEmail } from './emails.ts'
import { createLink, findLink, type Purpose, useLink } from './links.ts'
import { refuseTaken, requireMemberPassword, writePassword, wrongPassword } from './members.ts'
import { hashPassword, isPassword, requireGoodPassword } from './password.ts'
import { type Browser, type SignedInMember, startSession } from './sessions.ts'
import { hashToken, looksLikeToken } from './token.ts'

/** A form is taken for the second one of a double click within this time. */
const REPEAT_SECONDS = 10

/**
 * Begins a session, and returns the secret for its cookie.
 *
 * @throws authentication_error, the same and after the same time for an unknown address as for a wrong password
 */
export async function signIn(
  ctx: Context,
  email: string,
  password: string,
  browser: Browser,
): Promise<string> {
  const member = await findByEmail(ctx.db, email)
  const isRight = await isPassword(password, member?.passwordHash ?? null)
  const token = member && isRight ? await startSession(ctx, member, browser) : undefined
  const { address = null, requestId = null } = browser
  // The browser gets the secret after this, so no session is used without its entry.
  if (member && token !== undefined) {
    await recordSignInEvent(ctx, 'signIn', member, { requestId, after: { address } })
    return token
  }
  await recordSignInEvent(ctx, 'signInFailed', null, {
    requestId,
    ...(member && { record: `member:${member.id}` }),
    // Any other text is left out: people type their password into the field of the address as well.
    after: { ...(member && { email: member.email }), address },
  })
  throw authenticationError('E-mail or password is wrong.')
}

/**
 * Sends a link to choose a new password. An unknown address, and one without a password, gets nothing: the caller must
 * not show the difference, nor wait for this, because it takes longer for a known address.
 */
export async function requestReset(
  ctx: Context,
  email: string,
  requestId: string | null = null,
): Promise<void> {
  await inTransaction(ctx, async (tx) => {
    // With the lock, a concurrent change of the address either ends first, or finds the link and deletes it.
    const member = await findByEmail(tx.db, email, tx.db`for no key update`)
    if (!member?.passwordHash) return
    const link = await createLink(tx, member.id, 'reset')
    await sendMail(tx, resetEmail(member.email, link))
    await recordSignInEvent(tx, 'passwordResetRequested', null, {
      requestId,
      record: `member:${member.id}`,
    })
  })
}

/**
 * Sets the password of an invited member, or of one who forgot it, and ends all sessions.
 *
 * @param also another change of the same transaction
 * @returns the address that signs in with it
 * @throws not_found for a link that no longer works, validation_error for an unsuitable password
 */
export async function choosePassword(
  ctx: Context,
  purpose: Extract<Purpose, 'invitation' | 'reset'>,
  token: string,
  password: string,
  requestId: string | null = null,
  also: (tx: Context, memberId: number) => Promise<unknown> = async () => {},
): Promise<string> {
  await findLink(ctx, purpose, token)
  requireGoodPassword(password)
  const passwordHash = await hashPassword(password)
  return inTransaction(ctx, async (tx) => {
    const { memberId, memberEmail } = await useLink(tx, purpose, token)
    await writePassword(tx.db, memberId, passwordHash)
    await also(tx, memberId)
    if (purpose === 'reset') await sendMail(tx, changedPassword(ctx, memberEmail))
    const member = { id: memberId, email: memberEmail }
    const action = purpose === 'reset' ? 'passwordReset' : 'invitationAccepted'
    await recordSignInEvent(tx, action, member, { requestId })
    return memberEmail
  })
}

/**
 * Whether the link was used in the last seconds to choose this password. A double click sends a form twice, and the browser
 * shows only the second response.
 */
export async function hasJustChosen(
  { db }: Context,
  purpose: Purpose,
  token: string,
  password: string,
): Promise<boolean> {
  if (!looksLikeToken(token)) return false
  const [member] = await db<{ passwordHash: string | null }[]>`
    select m.password_hash as "passwordHash"
    from member_tokens t
    join members m on m.id = t.member_id
    where
      t.token_hash = ${hashToken(token)}
      and t.purpose = ${purpose}
      and t.expires_at <= clock_timestamp()
      and t.expires_at > clock_timestamp() - make_interval(secs => ${REPEAT_SECONDS})
  `
  return member !== undefined && isPassword(password, member.passwordHash)
}

/**
 * Changes the password of a member who is signed in, and ends all other sessions.
 *
 * @throws validation_error for a wrong current password, or an unsuitable new one
 */
export async function changePassword(
  ctx: Context,
  member: SignedInMember,
  { current, next }: { current: string; next: string },
): Promise<void> {
  requireGoodPassword(next, 'new_password')
  const passwordHash = await hashPassword(next)
  await withPassword(ctx, member, current, async (tx) => {
    await writePassword(tx.db, member.id, passwordHash, member.sessionId)
    await sendMail(tx, changedPassword(ctx, member.email))
  })
}

/**
 * Sends a link to a new address. The member signs in with the address once the link has been used. The address of
 * another member gets nothing, and the caller can't see the difference.
 *
 * @throws validation_error for a wrong password
 */
export async function requestEmailChange(
  ctx: Context,
  member: SignedInMember,
  { email, password }: { email: string; password: string },
): Promise<void> {
  await withPassword(ctx, member, password, async (tx) => {
    const other = await findByEmail(tx.db, email)
    if (other && other.id !== member.id) return
    const link = await createLink(tx, member.id, 'email', email)
    await sendMail(tx, confirmEmail(email, link))
  })
}

/**
 * Changes a member's address to the one that the link was sent to, and ends the member's other links. If the shop's
 * e-mail went to the former address, it goes to the new one.
 *
 * @returns the new address
 * @throws not_found for a link that no longer works, validation_error if the address was taken meanwhile
 */
export function changeEmail(
  ctx: Context,
  token: string,
  requestId: string | null = null,
): Promise<string> {
  return refuseTaken(() =>
    inTransaction(ctx, async (tx) => {
      const owner = await findLink(tx, 'email', token)
      // Like the closing of an account, locks the account before the member.
      await tx.db`
        select from accounts
        where id = (select account_id from members where id = ${owner.memberId})
        for no key update
      `
      const { memberId, memberEmail, email } = await useLink(tx, 'email', token)
      await tx.db`update members set email = ${email} where id = ${memberId}`
      // A link for a new password, which went to the former address.
      await tx.db`delete from member_tokens where member_id = ${memberId}`
      await tx.db`
        update accounts
        set email = ${email}
        where
          id = (select account_id from members where id = ${memberId})
          and lower(email) = lower(${memberEmail})
      `
      await sendMail(tx, emailChangedEmail(memberEmail, email!))
      await recordSignInEvent(
        tx,
        'emailChanged',
        { id: memberId, email: memberEmail },
        { requestId, before: { email: memberEmail }, after: { email } },
      )
      return email!
    }),
  )
}

/** Deletes sessions and links that have expired. The time is that of the statement, which an index can be searched for. */
export async function pruneSignIns({ db }: Context): Promise<void> {
  const expired = { where: db`expires_at <= statement_timestamp()`, orderBy: 'expires_at' }
  await deleteInBatches(db, 'member_sessions', expired)
  await deleteInBatches(db, 'member_tokens', expired)
}

/** Makes a change that requires the password, unless the password has changed since it was verified. */
async function withPassword(
  ctx: Context,
  member: SignedInMember,
  password: string,
  change: (tx: Context) => Promise<void>,
): Promise<void> {
  const verified = await requireMemberPassword(ctx, member.id, password)
  await inTransaction(ctx, async (tx) => {
    const [unchanged] = await tx.db`
      select from members where id = ${member.id} and password_hash = ${verified} for no key update
    `
    if (!unchanged) throw wrongPassword()
    await change(tx)
  })
}

/** The e-mail to a member whose password was changed. */
export const changedPassword = ({ config }: Context, email: string) =>
  passwordChangedEmail(email, `${config.publicUrl}/password/forgot`)

const MAX_EMAIL = 254

type Found = { id: number; email: string; passwordHash: string | null }

/** Finds a member whose address has a Punycode domain also by the other form of it, which people type. */
async function findByEmail(db: Db, email: string, lock = db``): Promise<Found | undefined> {
  // No member has an address that can't be stored. The query runs nevertheless, for the same time.
  const typed = email.length <= MAX_EMAIL && isStorable(email) ? email : ''
  const [found] = await db<Found[]>`
    select id, email, password_hash as "passwordHash"
    from members
    where lower(email) in (lower(${typed}), lower(${canonicalAddress(typed)}))
    order by lower(email) <> lower(${typed})
    limit 1
    ${lock}
  `
  return found
}
