import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Db } from '../database/sql.ts'
import type { WebhookEvent } from '../enums.ts'
import { authenticationError, conflict, validationError } from '../errors.ts'
import { withdrawNotice } from '../notices/notices.ts'
import { HOURS } from '../time/units.ts'
import { MAX_SKIPPED, skipPending } from './delivery-queue.ts'
import { type Endpoint, endpointNotFound, MAX_ENDPOINTS } from './endpoint.ts'
import { generateSecret, seal } from './secret.ts'

const PREVIOUS_SECRET_MS = 24 * HOURS

/** An endpoint and its signing secret, which is shown only once. */
export type NewEndpoint = { endpoint: Endpoint; secret: string }

/**
 * Registers an endpoint (§4.16). The endpoints of an account have distinct `place`s from 1 to 16, which limits their
 * number even if several are registered at the same time.
 *
 * @param wanted.url already validated
 * @throws validation_error on `url` for the seventeenth endpoint, authentication_error for a closed account
 */
export function createEndpoint(
  ctx: Context,
  accountId: number,
  wanted: { url: string; events: WebhookEvent[] },
): Promise<NewEndpoint> {
  const secret = generateSecret()
  return inTransaction(ctx, async ({ db, now, config }) => {
    // Serializes registrations, so that two don't choose the same place.
    const { count } = await db`
      select from accounts where id = ${accountId} and closed_at is null for no key update
    `
    // The keys are revoked and the members deleted, so the next request gets the same error.
    if (count === 0) throw authenticationError('The account has been closed.')
    const [endpoint] = await db<Endpoint[]>`
      insert into webhook_endpoints (account_id, place, url, events, secret, created_at)
      select
        ${accountId}::bigint,
        place,
        ${wanted.url},
        ${[...new Set(wanted.events)]}::text[],
        ${seal(config, accountId, secret)},
        ${now()}::timestamptz
      from generate_series(1, ${MAX_ENDPOINTS}::int) as place
      where not exists (
        select
        from webhook_endpoints taken
        where taken.account_id = ${accountId} and taken.place = place.place
      )
      order by place
      limit 1
      returning ${columns(db)}
    `
    if (!endpoint) {
      throw validationError({
        url: [`There are ${MAX_ENDPOINTS} webhook endpoints already: delete one of them first.`],
      })
    }
    return { endpoint, secret }
  })
}

/** An account's endpoints, oldest first, including disabled ones. */
export const listEndpoints = ({ db }: Context, accountId: number): Promise<Endpoint[]> => db<
  Endpoint[]
>`
  select ${columns(db)}
  from webhook_endpoints
  where account_id = ${accountId} and deleted_at is null
  order by id
`

/** One endpoint of an account. @throws not_found unless it is the account's */
export async function requireEndpoint(
  { db }: Context,
  accountId: number,
  id: number,
): Promise<Endpoint> {
  const [endpoint] = await db<Endpoint[]>`
    select ${columns(db)}
    from webhook_endpoints
    where id = ${id} and account_id = ${accountId} and deleted_at is null
  `
  if (!endpoint) throw endpointNotFound()
  return endpoint
}

/**
 * Deletes an endpoint and its secret, and skips its pending deliveries. Its log stays until it's pruned.
 *
 * @throws not_found unless the endpoint is the account's
 */
export async function removeEndpoint(ctx: Context, accountId: number, id: number): Promise<void> {
  if (!(await removeIfPresent(ctx, accountId, id))) throw endpointNotFound()
}

/** Deletes the endpoints of an account like `removeEndpoint`, and skips those that are deleted meanwhile. */
export async function removeEndpoints(ctx: Context, accountId: number): Promise<void> {
  for (const { id } of await listEndpoints(ctx, accountId)) {
    await removeIfPresent(ctx, accountId, id)
  }
}

const removeIfPresent = (ctx: Context, accountId: number, id: number): Promise<boolean> =>
  inTransaction(ctx, async (tx) => {
    const { count } = await tx.db`
      select
      from webhook_endpoints
      where id = ${id} and account_id = ${accountId} and deleted_at is null
      for no key update
    `
    if (count === 0) return false
    await skipPending(tx, id)
    await withdrawNotice(tx, accountId, 'endpoint_disabled', id)
    // At the end: "place" is part of a key, so from here on new deliveries, and the checkouts of their orders, wait.
    await tx.db`
      update webhook_endpoints
      set
        deleted_at = ${tx.now()},
        place = null,
        secret = null,
        previous_secret = null,
        previous_secret_until = null
      where id = ${id}
    `
    return true
  })

/**
 * Gives an endpoint a new secret. The former one signs as well for 24 hours; an earlier one no longer does.
 *
 * @throws not_found unless the endpoint is the account's
 */
export async function rotateSecret(
  { db, now, config }: Context,
  accountId: number,
  id: number,
): Promise<NewEndpoint> {
  const secret = generateSecret()
  const [endpoint] = await db<Endpoint[]>`
    update webhook_endpoints
    set
      previous_secret = secret,
      previous_secret_until = ${new Date(now().getTime() + PREVIOUS_SECRET_MS)},
      secret = ${seal(config, accountId, secret)},
      secret_number = secret_number + 1
    where id = ${id} and account_id = ${accountId} and deleted_at is null
    returning ${columns(db)}
  `
  if (!endpoint) throw endpointNotFound()
  return { endpoint, secret }
}

/**
 * Enables an endpoint and resets its failure count (§3.4). Skips pending deliveries that are left from before it was
 * disabled. An active endpoint stays active.
 *
 * @throws not_found unless the endpoint is the account's, conflict while a long queue is being skipped
 */
export function enableEndpoint(ctx: Context, accountId: number, id: number): Promise<Endpoint> {
  return inTransaction(ctx, async (tx) => {
    const { db } = tx
    const [locked] = await db<{ isDisabled: boolean }[]>`
      select disabled_at is not null as "isDisabled"
      from webhook_endpoints
      where id = ${id} and account_id = ${accountId} and deleted_at is null
      for no key update
    `
    if (locked?.isDisabled && (await skipPending(tx, id)) === MAX_SKIPPED) {
      throw conflict(
        'The endpoint’s pending deliveries are still being skipped. Try again shortly.',
      )
    }
    const [endpoint] = await db<Endpoint[]>`
      update webhook_endpoints
      set consecutive_failures = 0, disabled_at = null
      where id = ${id} and account_id = ${accountId} and deleted_at is null
      returning ${columns(db)}
    `
    if (!endpoint) throw endpointNotFound()
    await withdrawNotice(tx, accountId, 'endpoint_disabled', id)
    return endpoint
  })
}

const columns = (db: Db) => db`
  id,
  url,
  events,
  consecutive_failures as "consecutiveFailures",
  failure_reason as "failureReason",
  disabled_at as "disabledAt",
  created_at as "createdAt"
`
