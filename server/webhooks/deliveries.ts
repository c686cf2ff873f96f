import type { Context } from '../context.ts'
import { deleteInBatches } from '../database/batches.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Db } from '../database/sql.ts'
import type { WebhookEvent } from '../enums.ts'
import { DAYS } from '../time/units.ts'
import { type AttemptRow, attemptFrom } from './attempt-row.ts'
import { type Delivery, deliveryNotFound } from './delivery.ts'
import { endpointIsInactive } from './endpoint.ts'
import { requireEndpoint } from './endpoints.ts'
import { isKept } from './kept.ts'
import { dropPartitions } from './partitions.ts'

/**
 * Sends an event to one endpoint alone, subscribed to it or not. It is logged, retried and counted like a real event.
 *
 * @param data the event's data, about an order that doesn't exist
 * @throws not_found unless the endpoint is the account's, conflict if it is disabled
 */
export function sendTestEvent(
  ctx: Context,
  accountId: number,
  endpointId: number,
  { event, data }: { event: WebhookEvent; data: object },
): Promise<Delivery> {
  return inTransaction(ctx, async (tx) => {
    const { db, now, signal } = tx
    const { disabledAt } = await requireEndpoint(tx, accountId, endpointId)
    if (disabledAt) throw endpointIsInactive()
    const [queued] = await db<{ id: number }[]>`
      with recorded as (
        insert into events (account_id, event, data, created_at)
        values (${accountId}, ${event}, ${JSON.stringify(data)}, ${now()})
        returning id, created_at
      ),
      logged as (
        insert into deliveries (event_id, event, endpoint_id, status, created_at)
        select id, ${event}, ${endpointId}::bigint, 'pending', created_at from recorded
        returning id, event_id, endpoint_id, created_at
      )
      insert into delivery_queue (delivery_id, event_id, endpoint_id, next_attempt_at)
      select id, event_id, endpoint_id, created_at from logged
      returning delivery_id as id
    `
    await signal('deliveries')
    return getDelivery(tx, queued!.id)
  })
}

/** One delivery of an account. @throws not_found unless it is the account's */
export async function requireDelivery(
  { db }: Context,
  accountId: number,
  id: number,
): Promise<Delivery> {
  const [delivery] = await readDeliveries(db, [id])
  if (delivery?.accountId !== accountId) throw deliveryNotFound()
  return delivery
}

/** @throws not_found */
export async function getDelivery({ db }: Context, id: number): Promise<Delivery> {
  const [delivery] = await readDeliveries(db, [id])
  if (!delivery) throw deliveryNotFound()
  return delivery
}

/** The deliveries of the events about a slice, newest first. */
export async function deliveriesOfSlice({ db }: Context, sliceId: number): Promise<Delivery[]> {
  // Two statements, because the planner would read a large table for an unknown number of events.
  const events = await db<{ id: number }[]>`select id from events where slice_id = ${sliceId}`
  const rows = await db<{ id: number }[]>`
    select id from deliveries where event_id = any(${events.map(({ id }) => id)}::bigint[])
  `
  return readDeliveries(
    db,
    rows.map(({ id }) => id),
  )
}

/** These deliveries, newest first, without those that are hidden. */
export async function readDeliveries(db: Db, ids: number[]): Promise<Delivery[]> {
  const rows = await db<(Omit<Delivery, 'attempts'> & { attempts: AttemptRow[] })[]>`
    select
      deliveries.id,
      e.account_id as "accountId",
      deliveries.endpoint_id as "endpointId",
      w.deleted_at is not null as "isEndpointDeleted",
      e.event,
      e.data,
      deliveries.status,
      deliveries.attempts,
      q.due_at as "nextAttemptAt",
      deliveries.created_at as "createdAt"
    -- Joined one by one: each id is looked up in its partition, a list of ids in all of them.
    from unnest(${ids}::bigint[]) as wanted (id)
    join deliveries on deliveries.id = wanted.id
    join events e on e.id = deliveries.event_id
    join webhook_endpoints w on w.id = deliveries.endpoint_id
    left join delivery_queue q on q.delivery_id = deliveries.id
    where ${isKept(db)}
    order by deliveries.id desc
  `
  return rows.map(({ attempts, ...delivery }) => ({
    ...delivery,
    attempts: attempts.map(attemptFrom),
  }))
}

/** Erases the stored responses of receivers to the events of slices: they can quote the buyer's data. */
export async function eraseResponses(
  { db }: Pick<Context, 'db'>,
  sliceIds: number[],
): Promise<void> {
  // Separate statements, as in deliveriesOfSlice.
  const events = await db<{ id: number }[]>`
    select id from events where slice_id = any(${sliceIds}::bigint[])
  `
  const deliveries = await db<{ id: number }[]>`
    select id
    from deliveries
    where
      event_id = any(${events.map(({ id }) => id)}::bigint[])
      and attempts @? '$[*].response ? (@ > "")'
  `
  // One row per transaction: recordOutcomes locks several rows in any order, so locking several here could be a deadlock.
  for (const { id } of deliveries) {
    await db`
      update deliveries
      set
        attempts = (
          select jsonb_agg(attempt || '{"response": null}' order by number)
          from jsonb_array_elements(attempts) with ordinality as stored (attempt, number)
        )
      where id = ${id}
    `
  }
}

/** Drops events and deliveries after WEBHOOK_RETENTION_DAYS (partitions.ts), then deletes deleted endpoints. */
export async function pruneDeliveries(ctx: Context): Promise<void> {
  const { db, now, config } = ctx
  const before = new Date(now().getTime() - config.webhookRetentionDays * DAYS)
  await dropPartitions(ctx, before)
  await deleteInBatches(db, 'webhook_endpoints', {
    where: db`
      deleted_at <= ${before}
      and not exists (select from deliveries where endpoint_id = webhook_endpoints.id)
    `,
    orderBy: 'id',
  })
}
