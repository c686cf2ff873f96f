import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Page } from '../database/paging.ts'
import type { Db } from '../database/sql.ts'
import type { WebhookEvent } from '../enums.ts'
import { conflict } from '../errors.ts'
import { type AttemptRow, attemptFrom } from './attempt-row.ts'
import { type Delivery, type DeliveryStatus, deliveryNotFound } from './delivery.ts'
import { requireEndpoint } from './endpoints.ts'

const DAYS = 24 * 60 * 60 * 1000
const BATCH_ROWS = 1_000

/**
 * Requests an immediate attempt in addition to the schedule.
 *
 * @throws not_found, conflict if the endpoint is disabled or deleted
 */
export function resendDelivery(ctx: Context, id: number): Promise<Delivery> {
  return inTransaction(ctx, async (tx) => {
    const { db, now, signal } = tx
    await requireActiveEndpoint(tx, id)
    await db`
      insert into delivery_queue (delivery_id, event_id, endpoint_id, resend_at)
      select id, event_id, endpoint_id, ${now()}::timestamptz
      from deliveries
      where id = ${id}
      on conflict (delivery_id) do update set resend_at = excluded.resend_at
    `
    // After the queue (see `recordOutcomes`). It may have been pruned meanwhile.
    const { count } = await db`
      update deliveries set resent_in = pg_current_xact_id() where id = ${id}
    `
    if (count === 0) throw deliveryNotFound()
    await signal('deliveries')
    return getDelivery(tx, id)
  })
}

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
        insert into deliveries (event_id, endpoint_id, status, created_at)
        select id, ${endpointId}::bigint, 'pending', created_at from recorded
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

/** @throws not_found without such a delivery, conflict if its endpoint is disabled or deleted */
async function requireActiveEndpoint({ db }: Context, deliveryId: number): Promise<void> {
  const [endpoint] = await db<{ isActive: boolean }[]>`
    select w.disabled_at is null and w.deleted_at is null as "isActive"
    from deliveries d
    join webhook_endpoints w on w.id = d.endpoint_id
    where d.id = ${deliveryId}
  `
  if (!endpoint) throw deliveryNotFound()
  if (!endpoint.isActive) throw endpointIsInactive()
}

/**
 * Requests an immediate attempt at each delivery of an endpoint that failed or was skipped.
 *
 * @param span of `createdAt`; both ends are inclusive, in whole seconds as in responses
 * @returns the number of deliveries
 * @throws not_found unless the endpoint is the account's, conflict if it is disabled
 */
export async function resendDeliveries(
  ctx: Context,
  accountId: number,
  endpointId: number,
  span: { from: Date; to: Date },
): Promise<number> {
  const { db, now } = ctx
  const { disabledAt } = await requireEndpoint(ctx, accountId, endpointId)
  if (disabledAt) throw endpointIsInactive()
  const { count } = await db`
    with missed as (
      select id, event_id
      from deliveries
      where
        endpoint_id = ${endpointId}
        and is_missed
        and date_trunc('second', created_at) between ${span.from} and ${span.to}
      -- Another transaction resends, prunes or records a locked row. Waiting for it could be a deadlock, because
      -- recordOutcomes writes to the queue first.
      for update skip locked
    ),
    waiting as (
      select delivery_id
      from delivery_queue
      where delivery_id in (select id from missed)
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
      from missed
      where not exists (select from delivery_queue where delivery_id = missed.id)
      on conflict (delivery_id) do nothing
      returning delivery_id
    )
    update deliveries
    set resent_in = pg_current_xact_id()
    where id in (select delivery_id from renewed union all select delivery_id from queued)
  `
  await ctx.signal('deliveries')
  return count
}

const endpointIsInactive = () => conflict('The webhook endpoint is disabled or deleted.')

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
async function getDelivery({ db }: Context, id: number): Promise<Delivery> {
  const [delivery] = await readDeliveries(db, [id])
  if (!delivery) throw deliveryNotFound()
  return delivery
}

export type DeliveryFilters = {
  accountId?: number | undefined
  endpointId?: number | undefined
  status?: DeliveryStatus | undefined
  event?: WebhookEvent | undefined
  /** Times of the event, both inclusive, in whole seconds as in responses. */
  from?: Date | undefined
  to?: Date | undefined
}

/** One page of deliveries, newest first, and the total. */
export async function listDeliveries(
  { db }: Context,
  { accountId, endpointId, status, event, from, to }: DeliveryFilters,
  { perPage, offset }: Page,
): Promise<{ rows: Delivery[]; total: number }> {
  // The queue has the pending deliveries. `is_missed` selects the partial index deliveries_missed.
  const matching = {
    any: db`deliveries`,
    pending: db`
      (
        select delivery_id as id, endpoint_id, event_id
        from delivery_queue
        where next_attempt_at is not null
      ) deliveries
    `,
    delivered: db`(select id, endpoint_id, event_id from deliveries where status = 'delivered') deliveries`,
    failed: db`
      (select id, endpoint_id, event_id from deliveries where is_missed and status = 'failed') deliveries
    `,
    skipped: db`
      (select id, endpoint_id, event_id from deliveries where is_missed and status = 'skipped') deliveries
    `,
  }[status ?? 'any']
  // The event of each delivery of the endpoints is looked up: they are counted one by one anyway.
  const isOfEvent =
    event === undefined && !from && !to
      ? db``
      : db`
          and exists (
            select
            from events e
            where
              e.id = deliveries.event_id
              ${event === undefined ? db`` : db`and e.event = ${event}`}
              ${from ? db`and e.created_at >= ${from}` : db``}
              ${to ? db`and e.created_at < ${new Date(to.getTime() + 1_000)}` : db``}
          )
        `
  const isFiltered = accountId !== undefined || endpointId !== undefined
  const endpoints = db`
    select id
    from webhook_endpoints
    where ${endpointId === undefined ? db`account_id = ${accountId!}` : db`id = ${endpointId}`}
      ${endpointId !== undefined && accountId !== undefined ? db`and account_id = ${accountId}` : db``}
  `
  const [ids, [counted]] = await Promise.all([
    isFiltered
      ? db<{ id: number }[]>`
          select latest.id
          from (${endpoints}) endpoint
          cross join lateral (
            select id
            from ${matching}
            where endpoint_id = endpoint.id ${isOfEvent}
            order by id desc
            limit ${offset + perPage}
          ) latest
          order by latest.id desc
          limit ${perPage}
          offset ${offset}
        `
      : db<{ id: number }[]>`
          select id
          from ${matching}
          where true ${isOfEvent}
          order by id desc
          limit ${perPage}
          offset ${offset}
        `,
    db<{ total: number }[]>`
      select count(*) as total
      from ${matching}
      where ${isFiltered ? db`endpoint_id in (${endpoints})` : db`true`} ${isOfEvent}
    `,
  ])
  const rows = await readDeliveries(
    db,
    ids.map(({ id }) => id),
  )
  return { rows, total: counted?.total ?? 0 }
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

async function readDeliveries(db: Db, ids: number[]): Promise<Delivery[]> {
  const rows = await db<(Omit<Delivery, 'attempts'> & { attempts: AttemptRow[] })[]>`
    select
      d.id,
      e.account_id as "accountId",
      d.endpoint_id as "endpointId",
      e.event,
      e.data,
      d.status,
      d.attempts,
      q.due_at as "nextAttemptAt",
      d.created_at as "createdAt"
    from deliveries d
    join events e on e.id = d.event_id
    left join delivery_queue q on q.delivery_id = d.id
    where d.id = any(${ids}::bigint[])
    order by d.id desc
  `
  return rows.map(({ attempts, ...delivery }) => ({
    ...delivery,
    attempts: attempts.map(attemptFrom),
  }))
}

/**
 * Deletes finished deliveries after WEBHOOK_RETENTION_DAYS, then events without deliveries, then deleted endpoints.
 * Skips locked rows: they are being resent.
 */
export async function pruneDeliveries({ db, now, config }: Context): Promise<void> {
  const before = new Date(now().getTime() - config.webhookRetentionDays * DAYS)
  await inBatches(
    (after) => db<{ last: number }[]>`
      with batch as (
        select id, created_at
        from deliveries
        where id > ${after}
        order by id
        limit ${BATCH_ROWS}
      ),
      deleted as (
        delete from deliveries
        where id in (
          select id
          from deliveries
          where
            id in (select id from batch)
            and created_at <= ${before}
            and not exists (select from delivery_queue where delivery_id = deliveries.id)
          for update skip locked
        )
      )
      select max(id) as last
      from batch
      having bool_or(created_at <= ${before})
    `,
  )
  await inBatches(
    (after) => db<{ last: number }[]>`
      with batch as (
        select id, created_at
        from events
        where id > ${after}
        order by id
        limit ${BATCH_ROWS}
      ),
      deleted as (
        delete from events
        where id in (
          select id
          from events
          where
            id in (select id from batch)
            and created_at <= ${before}
            and not exists (select from deliveries where event_id = events.id)
          for update skip locked
        )
      )
      select max(id) as last
      from batch
      having bool_or(created_at <= ${before})
    `,
  )
  await db`
    delete from webhook_endpoints
    where
      deleted_at <= ${before}
      and not exists (select from deliveries where endpoint_id = webhook_endpoints.id)
  `
}

/** Walks over the ids, which increase with time, until a batch contains only rows that are kept. */
async function inBatches(prune: (after: number) => PromiseLike<{ last: number }[]>): Promise<void> {
  for (let after: number | undefined = 0; after !== undefined; ) {
    const [batch]: { last: number }[] = await prune(after)
    after = batch?.last
  }
}
