import type { Context } from '../context.ts'
import { deleteInBatches, inBatches } from '../database/batches.ts'
import type { Signals } from '../database/signals.ts'
import type { Db, Fragment } from '../database/sql.ts'
import { notFound } from '../errors.ts'
import type { Scope } from '../keys/scopes.ts'
import { PREFIX_BYTES, type SecretLookups, secretLookups } from '../limits/secret-lookups.ts'

/** A grant lasts at most this long after the consent, however often its tokens are refreshed. */
const MAX_DAYS = 365
/** Grants of a member: each has its own rate limits. A further one ends the one that was used longest ago. */
const MAX_GRANTS = 50
/** A registered client without a grant is kept this long. */
const UNUSED_CLIENT_DAYS = 30

/** The consent of a member to a program. */
export type Grant = {
  id: number
  clientName: string
  /** The host that the browser went back to; null for a device. */
  host: string | null
  scopes: Scope[]
  createdAt: Date
  lastUsedAt: Date | null
}

/** A grant that a member is about to give. */
export type NewGrant = {
  memberId: number
  clientId: string
  clientName: string
  host: string | null
  audience: string
  scopes: readonly Scope[]
}

/**
 * Creates a grant inside the transaction of its first code, device or token. A member who has 50 loses the one that was
 * used longest ago.
 *
 * @param seconds time in which the program must exchange the code; otherwise the grant ends
 */
export async function createGrant(
  { db, now }: Pick<Context, 'db' | 'now'>,
  { memberId, clientId, clientName, host, audience, scopes }: NewGrant,
  seconds: number,
): Promise<number> {
  // With the lock, concurrent consents count each other's grants.
  await db`select from members where id = ${memberId} for no key update`
  await endGrants(
    db,
    db`
      id = (
        select id
        from (
          select id, coalesce(last_used_at, created_at) as used_at, count(*) over () as count
          from oauth_grants
          where member_id = ${memberId} and expires_at > statement_timestamp()
        ) grants
        where count >= ${MAX_GRANTS}
        order by used_at, id
        limit 1
      )
    `,
  )
  const [grant] = await db<{ id: number }[]>`
    insert into oauth_grants (
      member_id, client_id, client_name, host, audience, scopes, created_at, ends_at, expires_at
    )
    values (
      ${memberId},
      ${clientId},
      ${clientName},
      ${host},
      ${audience},
      ${[...scopes]}::text[],
      ${now()},
      clock_timestamp() + make_interval(days => ${MAX_DAYS}),
      clock_timestamp() + make_interval(secs => ${seconds})
    )
    returning id
  `
  return grant!.id
}

/** Lookups of access tokens in one process. */
export const accessLookups = (db: Db, signals: Signals): SecretLookups =>
  secretLookups(
    signals,
    'new-access-tokens',
    () => db<{ sorted: Buffer | null }[]>`
      select string_agg(substring(token_hash for ${PREFIX_BYTES}), '' order by token_hash) as sorted
      from oauth_tokens
      where kind = 'access' and expires_at > statement_timestamp()
    `,
  )

/** The grants of an account's members, the newest first. */
export const listGrants = ({ db }: Context, accountId: number): Promise<Grant[]> =>
  db<Grant[]>`
    select
      g.id,
      g.client_name as "clientName",
      g.host,
      g.scopes,
      g.created_at as "createdAt",
      g.last_used_at as "lastUsedAt"
    from oauth_grants g
    where
      g.member_id = any(array(select id from members where account_id = ${accountId}))
      and g.expires_at > clock_timestamp()
    order by g.id desc
  `

/**
 * Ends a grant of an account: its tokens are refused at once.
 *
 * @throws not_found for a grant of another account
 */
export async function endGrant({ db }: Context, accountId: number, grantId: number): Promise<void> {
  const ended = await endGrants(
    db,
    db`
      id = ${grantId}
      and member_id in (select id from members where account_id = ${accountId})
    `,
  )
  if (ended === 0) throw notFound('There is no such program.')
}

/** Ends all grants of an account. */
export const endGrantsOfAccount = ({ db }: Context, accountId: number) =>
  endGrants(db, db`member_id = any(array(select id from members where account_id = ${accountId}))`)

/** Ends all grants of a member. */
export const endGrantsOfMember = ({ db }: Pick<Context, 'db'>, memberId: number) =>
  endGrants(db, db`member_id = ${memberId}`)

/** Deletes grants with their tokens, and keeps their clients for 30 more days. Returns the number of grants. */
export async function endGrants(db: Db, condition: Fragment): Promise<number> {
  const [ended] = await db<[{ count: number }]>`
    with ended as (
      delete from oauth_grants where ${condition} returning client_id
    ),
    kept as (
      update oauth_clients
      set keep_until = clock_timestamp() + make_interval(days => ${UNUSED_CLIENT_DAYS})
      where id = any(array(
        select id
        from oauth_clients
        where id in (select client_id from ended)
        -- Several processes that end grants of the same clients lock them in the same order.
        order by id
        for no key update
      ))
    )
    select count(*) from ended
  `
  return ended.count
}

/** Deletes expired grants, tokens and requests, and clients that nobody uses. */
export async function pruneOAuth({ db }: Context): Promise<void> {
  const isExpired = db`expires_at <= statement_timestamp()`
  const orderBy = 'expires_at'
  await inBatches((max) =>
    endGrants(
      db,
      db`
        id = any(array(
          select id
          from oauth_grants
          where ${isExpired}
          order by expires_at
          limit ${max}
          for update skip locked
        ))
      `,
    ),
  )
  // A used code is deleted with its grant: until then, a second use of the code must end the grant.
  const where = db`${isExpired} and (kind <> 'code' or used_at is null)`
  await deleteInBatches(db, 'oauth_tokens', { where, orderBy })
  await deleteInBatches(db, 'oauth_steps', { where: isExpired, orderBy })
  await deleteInBatches(db, 'oauth_devices', { where: isExpired, orderBy })
  await deleteInBatches(db, 'oauth_clients', {
    where: db`
      keep_until <= statement_timestamp()
      and (select g.id from oauth_grants g where g.client_id = oauth_clients.id limit 1) is null
    `,
    orderBy: 'keep_until',
  })
}
