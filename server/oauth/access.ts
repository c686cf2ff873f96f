import type { Context } from '../context.ts'
import { accessProblem } from '../keys/api-access.ts'
import { type CallerAccount, callerAccountColumns } from '../keys/key-cache.ts'
import type { Scope } from '../keys/scopes.ts'
import type { SecretLookups } from '../limits/secret-lookups.ts'
import { hashToken, looksLikeToken } from '../members/token.ts'

/** The permission that an access token stands for. */
export type Access = {
  /** Subject of the rate limits. */
  grantId: string
  account: CallerAccount & { timeZone: string; onHoliday: boolean }
  scopes: readonly Scope[]
  /** The only address that accepts the token, such as `PUBLIC_URL/mcp/seller`. */
  audience: string
  clientName: string
}

const TOUCH_INTERVAL_MS = 60_000

/**
 * The access of a token; undefined if it is unknown, expired or revoked. Reads the database each time, so that every
 * process refuses a revoked token at once. Records the use, at most once a minute. The caller compares the audience.
 *
 * @param from the subject for which wrong tokens are counted
 * @throws authorization_error while the account's API access is off or suspended
 */
export async function findAccess(
  ctx: Context & { accessTokens: SecretLookups },
  token: string,
  from: string,
): Promise<Access | undefined> {
  if (!looksLikeToken(token)) return undefined
  const row = await ctx.accessTokens.lookUp(hashToken(token), from, (hashed) => read(ctx, hashed))
  if (!row) return undefined
  const { grantId, scopes, audience, clientName, lastUsedAt, ...account } = row
  const problem = accessProblem(account)
  if (problem) throw problem
  const now = ctx.now()
  if (!lastUsedAt || now.getTime() - lastUsedAt.getTime() >= TOUCH_INTERVAL_MS) {
    await ctx.db`
      update oauth_grants
      set last_used_at = ${now}
      where id = ${grantId} and (last_used_at is null or last_used_at < ${now})
    `
  }
  return { grantId, account, scopes, audience, clientName }
}

type Row = Omit<Access, 'account'> & Access['account'] & { lastUsedAt: Date | null }

async function read({ db }: Context, hashed: Buffer): Promise<Row | null> {
  const [row = null] = await db<Row[]>`
    select
      g.id::text as "grantId",
      coalesce(t.scopes, g.scopes) as scopes,
      g.audience,
      g.client_name as "clientName",
      g.last_used_at as "lastUsedAt",
      a.time_zone as "timeZone",
      a.on_holiday as "onHoliday",
      ${callerAccountColumns(db)}
    from oauth_tokens t
    join oauth_grants g on g.id = t.grant_id
    join members m on m.id = g.member_id
    join accounts a on a.id = m.account_id
    where
      t.token_hash = ${hashed}
      and t.kind = 'access'
      and t.expires_at > clock_timestamp()
  `
  return row
}
