import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { ApiError, notFound } from '../errors.ts'
import { recordSignInEvent } from './audit.ts'
import { generateToken, hashToken, looksLikeToken } from './token.ts'

/** Lifetime of a session in real time. */
export const SESSION_DAYS = 30
/** A member's oldest sessions end beyond this number, which bounds the rows that one password can make. */
const MAX_SESSIONS = 50
const TOUCH_INTERVAL_MS = 60_000
const MAX_USER_AGENT = 300

/** The member of a request, and the session of their browser. */
export type SignedInMember = { id: number; accountId: number; email: string; sessionId: number }

/** A signed-in browser, without its secret. */
export type Session = {
  id: number
  userAgent: string | null
  address: string | null
  createdAt: Date
  lastUsedAt: Date
}

/** The browser that signs in. */
export type Browser = {
  userAgent?: string | undefined
  address?: string | undefined
  /** The id of the request that signs in, for the audit log. */
  requestId?: string | undefined
}

/**
 * Begins a session of a member who has proved who they are, and returns the secret for the cookie. Undefined if the
 * member was removed or got another password meanwhile: that has ended all sessions.
 */
export function startSession(
  ctx: Context,
  { id: memberId, passwordHash }: { id: number; passwordHash: string | null },
  browser: Browser,
): Promise<string | undefined> {
  const token = generateToken()
  return inTransaction(ctx, async ({ db, now }) => {
    // The lock lets concurrent sign-ins of a member count each other's sessions.
    const { count } = await db`
      insert into member_sessions (
        member_id, token_hash, user_agent, address, created_at, last_used_at, expires_at
      )
      select
        id,
        ${hashToken(token)}::bytea,
        ${storable(browser.userAgent)},
        ${browser.address ?? null},
        ${now()},
        ${now()},
        clock_timestamp() + make_interval(days => ${SESSION_DAYS})
      from members
      where id = ${memberId} and password_hash is not distinct from ${passwordHash}
      for no key update
    `
    if (count === 0) return undefined
    await db`
      delete from member_sessions
      where id in (
        select id from member_sessions
        where member_id = ${memberId}
        order by id desc
        offset ${MAX_SESSIONS}
      )
    `
    return token
  })
}

/**
 * The member whose session has this secret; null if it is unknown, expired or ended. Records the use, at most once a
 * minute.
 */
export async function memberOf(ctx: Context, token: string): Promise<SignedInMember | null> {
  if (!looksLikeToken(token)) return null
  const [row] = await ctx.db<(SignedInMember & { lastUsedAt: Date })[]>`
    select
      m.id,
      m.account_id as "accountId",
      m.email,
      s.id as "sessionId",
      s.last_used_at as "lastUsedAt"
    from member_sessions s
    join members m on m.id = s.member_id
    where s.token_hash = ${hashToken(token)} and s.expires_at > clock_timestamp()
  `
  if (!row) return null
  const { lastUsedAt, ...member } = row
  const now = ctx.now()
  if (now.getTime() - lastUsedAt.getTime() >= TOUCH_INTERVAL_MS) {
    await ctx.db`
      update member_sessions
      set last_used_at = ${now}
      where id = ${member.sessionId} and last_used_at < ${now}
    `
  }
  return member
}

/**
 * Checks that the page of a request was loaded for the member who is signed in. The tabs of a browser share one session, so
 * a tab can outlive its own.
 *
 * @param named the member's id; undefined if the request doesn't name it
 * @throws conflict with a header, which distinguishes it from other conflicts
 */
export function requirePageMember({ id }: SignedInMember, named: unknown): void {
  if (named === undefined || named === String(id)) return
  throw new ApiError('conflict', 'You have signed in as another member in another tab.', {
    headers: { 'x-member': String(id) },
  })
}

/** Ends the session of a browser that signs out. */
export async function endSession(
  ctx: Context,
  token: string,
  requestId: string | null = null,
): Promise<void> {
  if (!looksLikeToken(token)) return
  await inTransaction(ctx, async (tx) => {
    const [member] = await tx.db<{ id: number; email: string }[]>`
      delete from member_sessions s
      using members m
      where m.id = s.member_id and s.token_hash = ${hashToken(token)}
      returning m.id, m.email
    `
    if (member) await recordSignInEvent(tx, 'signOut', member, { requestId })
  })
}

/** A member's sessions, the last used first. At most 50. */
export const listSessions = ({ db }: Context, memberId: number): Promise<Session[]> =>
  db<Session[]>`
    select
      id,
      user_agent as "userAgent",
      address,
      created_at as "createdAt",
      last_used_at as "lastUsedAt"
    from member_sessions
    where member_id = ${memberId} and expires_at > clock_timestamp()
    order by last_used_at desc, id desc
  `

/**
 * Ends one of the member's sessions.
 *
 * @throws not_found for another member's session
 */
export async function revokeSession(
  { db }: Context,
  memberId: number,
  sessionId: number,
): Promise<void> {
  const { count } = await db`
    delete from member_sessions where id = ${sessionId} and member_id = ${memberId}
  `
  if (count === 0) throw notFound('There is no such session.')
}

/** Ends the member's sessions, except the given one. */
export async function revokeSessions(
  { db }: Pick<Context, 'db'>,
  memberId: number,
  except?: number,
): Promise<void> {
  await db`
    delete from member_sessions where member_id = ${memberId} and id is distinct from ${except ?? null}
  `
}

/** PostgreSQL can't store NUL, which a header can't contain either. */
const storable = (userAgent: string | undefined) =>
  userAgent?.slice(0, MAX_USER_AGENT).toWellFormed() ?? null
