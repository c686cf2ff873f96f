import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Db } from '../database/sql.ts'
import type { WebhookEvent } from '../enums.ts'
import { validationError } from '../errors.ts'
import { skipWaiting } from './delivery-queue.ts'
import { type Endpoint, endpointNotFound, MAX_ENDPOINTS } from './endpoint.ts'
import { generateSecret, seal } from './secret.ts'

/** An endpoint and its signing secret, which is known in this answer and nowhere else. */
export type NewEndpoint = { endpoint: Endpoint; secret: string }

/**
 * Registers an endpoint (§4.16). Of those an account holds each has a place of its own, so there are never more than
 * sixteen, however many are registered at once.
 *
 * @param wanted.url checked by `refusalOfUrl`
 * @throws validation_error on `url` for the seventeenth
 */
export function createEndpoint(
  ctx: Context,
  accountId: number,
  wanted: { url: string; events: WebhookEvent[] },
): Promise<NewEndpoint> {
  const secret = generateSecret()
  return inTransaction(ctx, async ({ db, now, config }) => {
    // Those who come at once take turns, and each sees what the one before has taken.
    await db`select from accounts where id = ${accountId} for no key update`
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
      returning ${shown(db)}
    `
    if (!endpoint) {
      throw validationError({
        url: [`There are ${MAX_ENDPOINTS} webhook endpoints already: delete one of them first.`],
      })
    }
    return { endpoint, secret }
  })
}

/** The account's endpoints, oldest first, disabled ones among them. */
export const listEndpoints = ({ db }: Context, accountId: number): Promise<Endpoint[]> => db<
  Endpoint[]
>`
  select ${shown(db)}
  from webhook_endpoints
  where account_id = ${accountId} and deleted_at is null
  order by id
`

/** @throws not_found for another account's */
export async function requireEndpoint(
  { db }: Context,
  accountId: number,
  id: number,
): Promise<Endpoint> {
  const [endpoint] = await db<Endpoint[]>`
    select ${shown(db)}
    from webhook_endpoints
    where id = ${id} and account_id = ${accountId} and deleted_at is null
  `
  if (!endpoint) throw endpointNotFound()
  return endpoint
}

/**
 * Deletes an endpoint and its secret. What waits for it is skipped; its log stays until it's pruned.
 *
 * @throws not_found for another account's
 */
export function removeEndpoint(ctx: Context, accountId: number, id: number): Promise<void> {
  return inTransaction(ctx, async (tx) => {
    const { count } = await tx.db`
      update webhook_endpoints
      set deleted_at = ${tx.now()}, place = null, secret = null
      where id = ${id} and account_id = ${accountId} and deleted_at is null
    `
    if (count === 0) throw endpointNotFound()
    await skipWaiting(tx, id)
  })
}

/**
 * Makes an endpoint active again, with no failures counted (§3.4). One that is active stays so.
 *
 * @throws not_found for another account's
 */
export async function enableEndpoint(
  { db }: Context,
  accountId: number,
  id: number,
): Promise<Endpoint> {
  const [endpoint] = await db<Endpoint[]>`
    update webhook_endpoints
    set consecutive_failures = 0, disabled_at = null
    where id = ${id} and account_id = ${accountId} and deleted_at is null
    returning ${shown(db)}
  `
  if (!endpoint) throw endpointNotFound()
  return endpoint
}

const shown = (db: Db) => db`
  id,
  url,
  events,
  consecutive_failures as "consecutiveFailures",
  disabled_at as "disabledAt",
  created_at as "createdAt"
`
