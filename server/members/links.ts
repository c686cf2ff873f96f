import type { Context } from '../context.ts'
import { notFound } from '../errors.ts'
import { generateToken, hashToken, looksLikeToken } from './token.ts'

/**
 * Links that members get by e-mail. Each works once; a new one replaces the former one of its purpose. A used link expires
 * at once, and is deleted with the other expired ones.
 */

/** Path and lifetime, in real time, of the links of each purpose. */
const LINKS = {
  invitation: { path: '/invitation', hours: 7 * 24 },
  reset: { path: '/password/reset', hours: 1 },
  email: { path: '/email', hours: 1 },
} as const

export type Purpose = keyof typeof LINKS

/** The member that a link belongs to, and the address that it confirms. */
export type LinkOwner = { memberId: number; memberEmail: string; email: string | null }

/**
 * Creates a link inside the transaction of the e-mail that contains it.
 *
 * @param email the address that an `email` link confirms
 */
export async function createLink(
  { db, config }: Context,
  memberId: number,
  purpose: Purpose,
  email: string | null = null,
): Promise<string> {
  const token = generateToken()
  const { path, hours } = LINKS[purpose]
  await db`
    insert into member_tokens (member_id, purpose, token_hash, email, expires_at)
    values (
      ${memberId},
      ${purpose},
      ${hashToken(token)},
      ${email},
      clock_timestamp() + make_interval(hours => ${hours})
    )
    on conflict (member_id, purpose) do update
    set token_hash = excluded.token_hash, email = excluded.email, expires_at = excluded.expires_at
  `
  return `${config.publicUrl}${path}?token=${token}`
}

/**
 * The owner of a link that still works. Opening a link doesn't use it, because programs that scan e-mail open links.
 *
 * @throws not_found for a link that was used or replaced, or has expired
 */
export async function findLink(
  { db }: Pick<Context, 'db'>,
  purpose: Purpose,
  token: string,
): Promise<LinkOwner> {
  const [owner] = looksLikeToken(token)
    ? await db<LinkOwner[]>`
        select t.member_id as "memberId", m.email as "memberEmail", t.email
        from member_tokens t
        join members m on m.id = t.member_id
        where
          t.token_hash = ${hashToken(token)}
          and t.purpose = ${purpose}
          and t.expires_at > clock_timestamp()
      `
    : []
  if (!owner) throw noSuchLink(purpose)
  return owner
}

/**
 * Uses a link up, inside the transaction of its effect. One of several concurrent uses succeeds.
 *
 * @throws not_found like `findLink`
 */
export async function useLink(
  { db }: Pick<Context, 'db'>,
  purpose: Purpose,
  token: string,
): Promise<LinkOwner> {
  const { memberId } = await findLink({ db }, purpose, token)
  // Like every change of a password, locks the member before the links.
  await db`select 1 from members where id = ${memberId} for no key update`
  const [owner] = await db<LinkOwner[]>`
    update member_tokens t
    set expires_at = clock_timestamp()
    from members m
    where
      m.id = t.member_id
      and t.token_hash = ${hashToken(token)}
      and t.purpose = ${purpose}
      and t.expires_at > clock_timestamp()
    returning t.member_id as "memberId", m.email as "memberEmail", t.email
  `
  if (!owner) throw noSuchLink(purpose)
  return owner
}

const GONE =
  'This link no longer works. It has already been used, has expired, or a newer e-mail has replaced it. If you have just used it, your change is saved.'

/** An invited member without a password can't ask for another link, and one with a password can't be invited again. */
const noSuchLink = (purpose: Purpose) =>
  notFound(
    purpose === 'invitation'
      ? `${GONE} If you have chosen a password, sign in. Otherwise ask the marketplace for another invitation.`
      : GONE,
  )
