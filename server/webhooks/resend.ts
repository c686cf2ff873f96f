import type { Context } from '../context.ts'
import { inBatches } from '../database/batches.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { afterFirstCommit } from '../errors.ts'
import { getDelivery } from './deliveries.ts'
import { type Delivery, deliveryNotFound } from './delivery.ts'
import { endpointIsInactive } from './endpoint.ts'
import { requireEndpoint } from './endpoints.ts'
import { firstKept, isKept } from './kept.ts'
import { isInPeriod } from './period.ts'

/**
 * Requests an immediate attempt in addition to the schedule.
 *
 * @throws not_found, conflict if the endpoint is disabled or deleted
 */
export function resendDelivery(ctx: Context, id: number): Promise<Delivery> {
  return inTransaction(ctx, async (tx) => {
    const { db, now, signal } = tx
    await lockResends(tx, await requireActiveEndpoint(tx, id), 'shared')
    await db`
      insert into delivery_queue (delivery_id, event_id, endpoint_id, resend_at)
      select id, event_id, endpoint_id, ${now()}::timestamptz
      from deliveries
      where id = ${id}
      on conflict (delivery_id) do update set resend_at = excluded.resend_at
    `
    // After the queue (see `recordOutcomes`). Its partition may have been dropped meanwhile.
    const { count } = await db`
      update deliveries set resent_in = xid_in_epoch(pg_current_xact_id()) where id = ${id}
    `
    if (count === 0) throw deliveryNotFound()
    await signal('deliveries')
    return getDelivery(tx, id)
  })
}

/** The endpoint of a delivery. @throws not_found without such a delivery, conflict if its endpoint is disabled or deleted */
async function requireActiveEndpoint({ db }: Context, deliveryId: number): Promise<number> {
  const [endpoint] = await db<{ id: number; isActive: boolean }[]>`
    select w.id, w.disabled_at is null and w.deleted_at is null as "isActive"
    from deliveries
    join webhook_endpoints w on w.id = endpoint_id
    where deliveries.id = ${deliveryId} and ${isKept(db)}
  `
  if (!endpoint) throw deliveryNotFound()
  if (!endpoint.isActive) throw endpointIsInactive()
  return endpoint.id
}

/**
 * Locks the resends of an endpoint until the transaction ends. A bulk resend locks deliveries before it writes to the
 * queue. A single resend locks them in the opposite order, as `recordOutcomes` does. Both at the same time could wait for
 * each other.
 */
async function lockResends(
  { db }: Context,
  endpointId: number,
  mode: 'shared' | 'exclusive',
): Promise<void> {
  const key = db`hashtextextended('resends', ${endpointId})`
  await db`
    select
      ${mode === 'shared' ? db`pg_advisory_xact_lock_shared(${key})` : db`pg_advisory_xact_lock(${key})`}
  `
}

/** Deliveries that one transaction resends. Outcomes of their attempts wait for it. */
const RESEND_BATCH = 1_000

/**
 * Requests an immediate attempt at each delivery of an endpoint that failed or was skipped, in several transactions. A
 * second call continues after an interruption: a delivery that is queued already gets one attempt.
 *
 * @param span of `createdAt`, as in `DeliveryFilters`
 * @returns the number of deliveries
 * @throws not_found unless the endpoint is the account's, conflict if it is disabled, both also meanwhile
 */
export async function resendDeliveries(
  ctx: Context,
  accountId: number,
  endpointId: number,
  span: { from: Date; to: Date },
  batchRows = RESEND_BATCH,
): Promise<number> {
  let resent = 0
  let lastId = 0
  await inBatches(async (max) => {
    const resendBatch = () =>
      inTransaction(ctx, async (tx) => {
        const { disabledAt } = await requireEndpoint(tx, accountId, endpointId)
        if (disabledAt) throw endpointIsInactive()
        await lockResends(tx, endpointId, 'exclusive')
        const missed = await lockMissed(tx, endpointId, span, lastId, max)
        return { missed, count: await resendLocked(tx, endpointId, missed) }
      })
    const { missed, count } = await (resent > 0 ? afterFirstCommit(resendBatch) : resendBatch())
    resent += count
    lastId = missed.at(-1)?.id ?? lastId
    return missed.length
  }, batchRows)
  return resent
}

/** The time of the oldest missed delivery of each endpoint of an account that has one, by the endpoint's id. */
export async function missedSince({ db }: Context, accountId: number): Promise<Map<number, Date>> {
  const rows = await db<{ id: number; since: Date }[]>`
    select endpoint.id, oldest.created_at as since
    from webhook_endpoints endpoint
    cross join lateral (
      select created_at
      from deliveries
      where
        endpoint_id = endpoint.id
        and is_missed
        and id >= ${firstKept(db)}
        and ${isKept(db)}
      order by deliveries.id
      limit 1
    ) oldest
    where endpoint.account_id = ${accountId} and endpoint.deleted_at is null
  `
  return new Map(rows.map(({ id, since }) => [id, since]))
}

type Missed = { id: number; eventId: number }

/** Locks the next missed deliveries of an endpoint, in the order of their ids. */
const lockMissed = (
  { db }: Context,
  endpointId: number,
  { from, to }: { from: Date; to: Date },
  lastId: number,
  max: number,
): Promise<Missed[]> => db<Missed[]>`
  select id, event_id as "eventId"
  from deliveries
  where
    endpoint_id = ${endpointId}
    and is_missed
    and id > ${lastId}
    and id >= ${firstKept(db)}
    and ${isInPeriod(db, from, to)}
    and ${isKept(db)}
  order by id
  limit ${max}
  -- Another transaction resends or records a locked row. Waiting for it could be a deadlock, because
  -- recordOutcomes writes to the queue first.
  for update skip locked
`

/** Queues locked deliveries, except those that another transaction claims or records. Returns their number. */
async function resendLocked(
  { db, now, signal }: Context,
  endpointId: number,
  missed: Missed[],
): Promise<number> {
  const ids = missed.map(({ id }) => id)
  const { count } = await db`
    with waiting as (
      select delivery_id
      from delivery_queue
      where delivery_id = any(${ids}::bigint[])
      for update skip locked
    ),
    renewed as (
      update delivery_queue
      set resend_at = ${now()}
      where delivery_id in (select delivery_id from waiting)
      returning delivery_id
    ),
    queued as (
      insert into delivery_queue (delivery_id, event_id, endpoint_id, resend_at)
      select id, event_id, ${endpointId}::bigint, ${now()}::timestamptz
      from unnest(
        ${ids}::bigint[],
        ${missed.map(({ eventId }) => eventId)}::bigint[]
      ) as missed (id, event_id)
      where not exists (select from delivery_queue where delivery_id = missed.id)
      on conflict (delivery_id) do nothing
      returning delivery_id
    )
    update deliveries
    set resent_in = xid_in_epoch(pg_current_xact_id())
    where id in (select delivery_id from renewed union all select delivery_id from queued)
  `
  await signal('deliveries')
  return count
}
