import type { Context } from '../context.ts'
import { deleteInBatches, inBatches } from '../database/batches.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Page } from '../database/paging.ts'
import type { Db, Fragment } from '../database/sql.ts'
import type { DeliveryStatus, WebhookEvent } from '../enums.ts'
import { afterFirstCommit, conflict, validationError } from '../errors.ts'
import { groupDigits } from '../text/formats.ts'
import { endOfSecond, storableTime } from '../time/storable-time.ts'
import { DAYS } from '../time/units.ts'
import { type AttemptRow, attemptFrom } from './attempt-row.ts'
import { type Delivery, deliveryNotFound } from './delivery.ts'
import { numberKept } from './delivery-counts.ts'
import { requireEndpoint } from './endpoints.ts'
import { firstKept, isKept } from './kept.ts'
import { dropPartitions } from './partitions.ts'

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

/**
 * Deliveries of a list that its pages reach. A page reads all newer deliveries of each endpoint, because ids alone are in
 * order.
 */
const MAX_PAGED = 10_000

/**
 * One page of deliveries, newest first, and the total, in one snapshot.
 *
 * @throws validation_error for a page with deliveries beyond the newest MAX_PAGED
 */
export const listDeliveries = (
  { begin }: Pick<Context, 'begin'>,
  filters: DeliveryFilters,
  page: Page,
): Promise<{ rows: Delivery[]; total: number; reach: number }> =>
  begin((db) => readPageOfDeliveries(db, filters, page), 'snapshot')

async function readPageOfDeliveries(
  db: Db,
  { accountId, endpointId, status, event, from, to }: DeliveryFilters,
  { perPage, offset }: Page,
): Promise<{ rows: Delivery[]; total: number; reach: number }> {
  const kept = isKept(db)
  const sourcesIn = (period: Fragment): Record<DeliveryStatus | 'any' | 'missed', Fragment> => ({
    any: db`
      (select id, endpoint_id, event_id, event from deliveries where ${kept} and ${period}) deliveries
    `,
    // The queue has the pending deliveries.
    pending: db`
      (
        select delivery_id as id, endpoint_id, event_id, null as event
        from delivery_queue
        where
          next_attempt_at is not null
          ${
            from || to
              ? db`and exists (select from deliveries where id = delivery_id and ${isInPeriod(db, from, to)})`
              : db``
          }
      ) deliveries
    `,
    delivered: db`
      (
        select id, endpoint_id, event_id, event
        from deliveries
        where status = 'delivered' and ${kept} and ${period}
      ) deliveries
    `,
    // The index deliveries_missed is partial and has `is_skipped`.
    missed: db`
      (
        select id, endpoint_id, event_id, event
        from deliveries
        where is_missed and ${kept} and ${period}
      ) deliveries
    `,
    failed: db`
      (
        select id, endpoint_id, event_id, event, status
        from deliveries
        where is_missed and not is_skipped and ${kept} and ${period}
      ) deliveries
    `,
    skipped: db`
      (
        select id, endpoint_id, event_id, event, status
        from deliveries
        where is_missed and is_skipped and ${kept} and ${period}
      ) deliveries
    `,
  })
  // The queue doesn't have the event, and neither have deliveries of an earlier version: theirs is looked up.
  const isOfEvent =
    event === undefined
      ? db``
      : db`
          and coalesce(
            deliveries.event,
            (select e.event from events e where e.id = deliveries.event_id)
          ) = ${event}
        `
  const isFiltered = accountId !== undefined || endpointId !== undefined
  const endpoints = db`
    select id
    from webhook_endpoints
    where ${endpointId === undefined ? db`account_id = ${accountId!}` : db`id = ${endpointId}`}
      ${endpointId !== undefined && accountId !== undefined ? db`and account_id = ${accountId}` : db``}
  `
  // The planner knows how frequent a status is, but not a combination of columns.
  const hasStatus =
    status === 'failed'
      ? db`status = 'failed'`
      : status === 'skipped'
        ? db`status = 'skipped'`
        : db`true`
  // A page that is too far reads nothing: its limit is 0.
  const size = offset < MAX_PAGED ? perPage : 0
  const isListed: Fragment = isFiltered ? db`endpoint_id in (${endpoints})` : db`true`
  const listed = sourcesIn(isInPeriod(db, from, to))[status ?? 'any']
  const counted = sourcesIn(isInPeriodById(db, from, to))
  // Endpoint by endpoint: for all of them at once, the planner could read the whole log.
  const numberOf = (source: Fragment): Fragment =>
    isFiltered
      ? db`
          (
            select coalesce(sum(counted.number), 0)::bigint
            from (${endpoints}) endpoint
            cross join lateral (
              select count(*) as number
              from ${source}
              where endpoint_id = endpoint.id ${isOfEvent}
            ) counted
          )
        `
      : db`(select count(*) from ${source} where true ${isOfEvent})`
  const numberOfAll: Fragment =
    event || from || to ? numberOf(counted.any) : numberKept(db, isListed)
  const [ids, [result]] = await Promise.all([
    isFiltered
      ? db<{ id: number }[]>`
          select latest.id
          from (${endpoints}) endpoint
          cross join lateral (
            select id
            from ${listed}
            where endpoint_id = endpoint.id ${isOfEvent}
            order by id desc
            limit ${offset + perPage}
          ) latest
          order by latest.id desc
          limit ${size}
          offset ${offset}
        `
      : db<{ id: number }[]>`
          select id
          from ${listed}
          where ${hasStatus} ${isOfEvent}
          order by id desc
          limit ${size}
          offset ${offset}
        `,
    db<{ total: number }[]>`
      select
        ${
          status === undefined
            ? numberOfAll
            : status === 'delivered' && !event
              ? db`${numberOfAll} - ${numberOf(counted.missed)} - ${numberOf(counted.pending)}`
              : numberOf(counted[status])
        } as total
    `,
  ])
  const total = result?.total ?? 0
  if (size === 0 && offset < total) throw tooFar()
  const rows = await readDeliveries(
    db,
    ids.map(({ id }) => id),
  )
  return { rows, total, reach: MAX_PAGED }
}

const tooFar = () =>
  validationError({
    page: [
      `Pages reach only the newest ${groupDigits(MAX_PAGED)} deliveries of a list. Use from and to to list others.`,
    ],
  })

/**
 * Two transactions that were open at the same time can have ids in the opposite order. They end within 10 s. If the clocks
 * of two processes differ by more, or the sandbox's clock jumps during a transaction, a total can count a delivery that
 * its list leaves out.
 */
const MARGIN_MS = 60_000

/** A condition on `deliveries`. Ids bound the rows that it reads; a delivery has the time of its event. */
const isInPeriod = (db: Db, from?: Date, to?: Date): Fragment =>
  db`${hasTime(db, from, to)} and ${hasIds(db, MARGIN_MS, from, to)}`

/** The same condition for a count: an index of ids has most of the period, and only rows near its ends are read. */
function isInPeriodById(db: Db, from?: Date, to?: Date): Fragment {
  if (!from && !to) return db`true`
  return db`
    ${hasIds(db, MARGIN_MS, from, to)}
    and (
      (${hasIds(db, -MARGIN_MS, from, to)})
      -- A scalar subquery looks up one row. For EXISTS the planner could read all deliveries.
      or (select ${hasTime(db, from, to)} from deliveries margin where margin.id = deliveries.id)
    )
  `
}

function hasTime(db: Db, from?: Date, to?: Date) {
  return db`
    true
    ${from ? db`and created_at >= ${from}` : db``}
    ${to ? db`and created_at < ${endOfSecond(to)}` : db``}
  `
}

/** Whether the id is one of a period that is longer by a margin at both ends, or shorter by a negative one. */
function hasIds(db: Db, margin: number, from?: Date, to?: Date) {
  const firstSince = (time: number) => db`(select first_delivery_since(${storableTime(time)}))`
  return db`
    true
    ${from ? db`and id >= ${firstSince(from.getTime() - margin)}` : db``}
    ${to ? db`and id < ${firstSince(endOfSecond(to).getTime() + margin)}` : db``}
  `
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
