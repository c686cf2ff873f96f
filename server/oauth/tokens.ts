import type { Db } from '../database/sql.ts'
import { generateToken, hashToken } from '../members/token.ts'

/** Lifetimes in real time. */
export const ACCESS_SECONDS = 60 * 60
const REFRESH_DAYS = 30

/** An access token and the refresh token that replaces it. */
export type TokenPair = { accessToken: string; refreshToken: string }

/** Issues a pair of tokens of a grant, and keeps the grant alive as long as they are. */
export async function issueTokens(db: Db, grantId: number): Promise<TokenPair> {
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
    insert into oauth_tokens (token_hash, kind, grant_id, expires_at)
    select
      decode(${hashToken(pair.accessToken)}, 'hex'),
      'access',
      id,
      least(ends_at, clock_timestamp() + make_interval(secs => ${ACCESS_SECONDS}))
    from g
    union all
    select decode(${hashToken(pair.refreshToken)}, 'hex'), 'refresh', id, expires_at from g
  `
  return pair
}
