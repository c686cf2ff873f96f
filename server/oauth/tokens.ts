import { hash, timingSafeEqual } from 'node:crypto'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Db } from '../database/sql.ts'
import { rateLimited } from '../errors.ts'
import type { Scope } from '../keys/scopes.ts'
import { generateToken, hashToken, looksLikeToken } from '../members/token.ts'
import { createGrant, endGrants, type NewGrant } from './grants.ts'
import { OAuthError } from './oauth-error.ts'

/** Codes and tokens. Their lifetimes are real time, and only their SHA-256 is stored. */

const CODE_SECONDS = 60
/** A consent is taken for the second request of a double click within this time. */
export const REPEAT_SECONDS = 10
export const ACCESS_SECONDS = 60 * 60
const REFRESH_DAYS = 30
/**
 * Several windows of one program share a refresh token. Each may use it within this time after the first use; a later
 * use is a replay.
 */
const GRACE_MINUTES = 10
/**
 * Valid access tokens of a grant, and so its refreshes per hour. They bound the rows that a program can make, all of which
 * the end of its access deletes at once. Forgetting used refresh tokens instead would hide a replay.
 */
const MAX_ACCESS_TOKENS = 30

/** An access token, and the refresh token that replaces it. */
export type TokenPair = { accessToken: string; refreshToken: string }
/** A response of the token endpoint. */
export type Issued = TokenPair & { scopes: readonly Scope[] }

/**
 * Issues a pair of tokens of a grant, and keeps the grant as long as they are valid.
 *
 * @param scopes of the access token, if it has fewer than the grant
 */
export async function issueTokens(
  { db, signal }: Pick<Context, 'db' | 'signal'>,
  grantId: number,
  scopes?: Scope[],
): Promise<TokenPair> {
  const pair = { accessToken: generateToken(), refreshToken: generateToken() }
  await db`
    with g as (
      update oauth_grants
      set
        expires_at = least(
          ends_at, clock_timestamp() + make_interval(days => ${REFRESH_DAYS})
        )
      where id = ${grantId}
      returning id, ends_at, expires_at
    )
    insert into oauth_tokens (token_hash, kind, grant_id, scopes, expires_at)
    select
      ${hashToken(pair.accessToken)}::bytea,
      'access',
      id,
      ${scopes ?? null}::text[],
      least(ends_at, clock_timestamp() + make_interval(secs => ${ACCESS_SECONDS}))
    from g
    union all
    select ${hashToken(pair.refreshToken)}::bytea, 'refresh', id, null, expires_at from g
  `
  await signal('new-access-tokens')
  return pair
}

/** Creates a grant with its code, inside the transaction of the consent. */
export async function issueCode(
  tx: Context,
  code: string,
  grant: NewGrant,
  { redirectUri, codeChallenge }: { redirectUri: string; codeChallenge: string },
): Promise<void> {
  const grantId = await createGrant(tx, grant, CODE_SECONDS)
  await tx.db`
    insert into oauth_tokens (
      token_hash, kind, grant_id, redirect_uri, code_challenge, expires_at
    )
    values (
      ${hashToken(code)},
      'code',
      ${grantId},
      ${redirectUri},
      ${codeChallenge},
      clock_timestamp() + make_interval(secs => ${CODE_SECONDS})
    )
  `
}

/** Whether a code was issued, used or not. */
export async function wasIssued({ db }: Context, code: string): Promise<boolean> {
  const { count } = await db`
    select from oauth_tokens where token_hash = ${hashToken(code)}
  `
  return count > 0
}

/** Whether a code was issued in the last seconds, to the same consent, and is not used yet. */
export async function wasJustIssued(
  { db }: Context,
  code: string,
  { memberId, scopes }: Pick<NewGrant, 'memberId' | 'scopes'>,
): Promise<boolean> {
  const { count } = await db`
    select
    from oauth_tokens t
    join oauth_grants g on g.id = t.grant_id
    where
      t.token_hash = ${hashToken(code)}
      and t.kind = 'code'
      and t.used_at is null
      and t.expires_at > clock_timestamp() + make_interval(secs => ${CODE_SECONDS - REPEAT_SECONDS})
      and g.member_id = ${memberId}
      and g.scopes = ${[...scopes]}::text[]
  `
  return count > 0
}

/** The parameters of an exchange that must match the token's grant. */
type Exchange = { clientId: string; resource: string | undefined }

/**
 * Exchanges a code for tokens. One of several concurrent exchanges succeeds. A replay ends the grant.
 *
 * @throws OAuthError
 */
export function exchangeCode(
  ctx: Context,
  code: string,
  {
    redirectUri,
    verifier,
    ...exchange
  }: Exchange & { redirectUri: string | undefined; verifier: string },
): Promise<Issued> {
  return withToken(ctx, 'code', code, exchange, (token) => {
    if (token.usedAt) return 'replay'
    if (redirectUri !== undefined && redirectUri !== token.redirectUri) {
      throw invalidGrant('The redirect_uri is not that of the authorization request.')
    }
    if (!isChallengeOf(verifier, token.codeChallenge!)) {
      throw invalidGrant('The code_verifier is wrong.')
    }
    return 'use'
  })
}

/**
 * Replaces a refresh token. The replaced one works for 10 more minutes; after that its use ends the grant.
 *
 * @param scopes of the new access token; all scopes of the grant if empty (RFC 6749 §6)
 * @throws OAuthError, rate_limited for a program that refreshes all the time
 */
export function refreshTokens(
  ctx: Context,
  refreshToken: string,
  { scopes, ...exchange }: Exchange & { scopes: string[] },
): Promise<Issued> {
  return withToken(ctx, 'refresh', refreshToken, exchange, (token) => {
    if (token.isReplay) return 'replay'
    if (!scopes.every((name) => token.scopes.some((scope) => scope === name))) {
      throw new OAuthError('invalid_scope', 'The member has not allowed these scopes.')
    }
    return scopes.length === 0 ? 'use' : token.scopes.filter((scope) => scopes.includes(scope))
  })
}

/** Ends the grant of a token, if that is known and no other client's (RFC 7009 §2.1). */
export async function revokeToken(
  { db }: Context,
  token: string,
  clientId: string | undefined,
): Promise<void> {
  if (!looksLikeToken(token)) return
  await endGrants(
    db,
    db`
      id = (
        select grant_id
        from oauth_tokens
        where token_hash = ${hashToken(token)}
      )
      ${clientId === undefined ? db`` : db`and client_id = ${clientId}`}
    `,
  )
}

type StoredToken = {
  grantId: number
  clientId: string
  audience: string
  scopes: Scope[]
  redirectUri: string | null
  codeChallenge: string | null
  usedAt: Date | null
  /** Whether the grace period of a used token is over. */
  isReplay: boolean
  isExpired: boolean
}

/**
 * Uses a token that passes the check, and issues the next pair, with the scopes that the check returns or all of the
 * grant. Ends the grant if the check finds a replay.
 */
async function withToken(
  ctx: Context,
  kind: 'code' | 'refresh',
  text: string,
  { clientId, resource }: Exchange,
  check: (token: StoredToken) => 'use' | 'replay' | Scope[],
): Promise<Issued> {
  if (!looksLikeToken(text)) throw unknown(kind)
  const hashed = hashToken(text)
  const issued = await inTransaction(ctx, async (tx) => {
    const { db } = tx
    const token = await lockToken(db, kind, hashed)
    if (!token || token.clientId !== clientId) throw unknown(kind)
    const checked = check(token)
    if (checked === 'replay') {
      await endGrants(db, db`id = ${token.grantId}`)
      return undefined
    }
    if (token.isExpired) throw unknown(kind)
    if (resource !== undefined && resource !== token.audience) {
      throw new OAuthError('invalid_target', `The resource of this grant is ${token.audience}.`)
    }
    if (kind === 'refresh') await limitRefreshes(db, token.grantId)
    const { count } = await db`
      update oauth_tokens
      set used_at = coalesce(used_at, clock_timestamp())
      where token_hash = ${hashed} and (kind = 'refresh' or used_at is null)
    `
    if (count === 0) throw unknown(kind)
    const scopes = checked === 'use' ? undefined : checked
    const pair = await issueTokens(tx, token.grantId, scopes)
    return { ...pair, scopes: scopes ?? token.scopes }
  })
  if (!issued)
    throw invalidGrant(`The ${NAMES[kind]} was used before, so the access has ended for safety.`)
  return issued
}

/** Reads a token, and locks its grant: exchanges and the end of a grant happen one after the other. */
async function lockToken(
  db: Db,
  kind: 'code' | 'refresh',
  hashed: Buffer,
): Promise<StoredToken | undefined> {
  await db`
    select 1
    from oauth_grants
    where
      id = (select grant_id from oauth_tokens where token_hash = ${hashed})
    for no key update
  `
  // A second statement, because the first may have waited for an exchange whose result this one must see.
  const [token] = await db<StoredToken[]>`
    select
      t.grant_id as "grantId",
      g.client_id as "clientId",
      g.audience,
      g.scopes,
      t.redirect_uri as "redirectUri",
      t.code_challenge as "codeChallenge",
      t.used_at as "usedAt",
      coalesce(
        t.used_at + make_interval(mins => ${GRACE_MINUTES}) < clock_timestamp(), false
      ) as "isReplay",
      t.expires_at <= clock_timestamp() as "isExpired"
    from oauth_tokens t
    join oauth_grants g on g.id = t.grant_id
    where t.token_hash = ${hashed} and t.kind = ${kind}
  `
  return token
}

/**
 * Counts the valid access tokens of a grant, under its lock.
 *
 * @throws rate_limited until the first of them expires
 */
async function limitRefreshes(db: Db, grantId: number): Promise<void> {
  const [valid] = await db<{ count: number; resetAt: number; retryAfter: number }[]>`
    select
      count(*) as count,
      ceil(extract(epoch from min(expires_at)))::float8 as "resetAt",
      ceil(extract(epoch from min(expires_at) - statement_timestamp()))::float8 as "retryAfter"
    from oauth_tokens
    where grant_id = ${grantId} and kind = 'access' and expires_at > statement_timestamp()
  `
  const { count, retryAfter } = valid!
  if (count < MAX_ACCESS_TOKENS) return
  throw rateLimited(
    `The program has ${MAX_ACCESS_TOKENS} valid access tokens. Try again in ${retryAfter} s.`,
    valid!,
  )
}

const isChallengeOf = (verifier: string, challenge: string) =>
  timingSafeEqual(
    hash('sha256', hash('sha256', verifier, 'base64url'), 'buffer'),
    hash('sha256', challenge, 'buffer'),
  )

const NAMES = { code: 'code', refresh: 'refresh token' }

const unknown = (kind: 'code' | 'refresh') =>
  invalidGrant(`The ${NAMES[kind]} is unknown, expired, or another program’s.`)

const invalidGrant = (description: string) => new OAuthError('invalid_grant', description)
