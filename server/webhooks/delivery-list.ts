import type { Context } from '../context.ts'
import type { Page } from '../database/paging.ts'
import type { Db, Fragment } from '../database/sql.ts'
import type { DeliveryStatus, WebhookEvent } from '../enums.ts'
import { validationError } from '../errors.ts'
import { groupDigits } from '../text/formats.ts'
import { readDeliveries } from './deliveries.ts'
import type { Delivery } from './delivery.ts'
import { numberKept } from './delivery-counts.ts'
import { isKept } from './kept.ts'
import { isInPeriod, isInPeriodById } from './period.ts'

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
  filters: DeliveryFilters,
  { perPage, offset }: Page,
): Promise<{ rows: Delivery[]; total: number; reach: number }> {
  // A page that is too far reads nothing: its limit is 0.
  const size = offset < MAX_PAGED ? perPage : 0
  const [ids, [result]] = await Promise.all([
    idsOnPage(db, filters, { perPage, offset }, size),
    db<{ total: number }[]>`select ${totalOf(db, filters)} as total`,
  ])
  const total = result?.total ?? 0
  if (size === 0 && offset < total) throw tooFar()
  const rows = await readDeliveries(
    db,
    ids.map(({ id }) => id),
  )
  return { rows, total, reach: MAX_PAGED }
}

/** The ids of a page, newest first. */
function idsOnPage(
  db: Db,
  filters: DeliveryFilters,
  { perPage, offset }: Page,
  size: number,
): Promise<{ id: number }[]> {
  const { status, from, to } = filters
  const endpoints = endpointsOf(db, filters)
  const isOfEvent = eventCondition(db, filters)
  const listed = sourcesIn(db, filters, isInPeriod(db, from, to))[status ?? 'any']
  if (endpoints) {
    return db<{ id: number }[]>`
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
  }
  // The planner knows how frequent a status is, but not a combination of columns.
  const hasStatus =
    status === 'failed'
      ? db`status = 'failed'`
      : status === 'skipped'
        ? db`status = 'skipped'`
        : db`true`
  return db<{ id: number }[]>`
    select id
    from ${listed}
    where ${hasStatus} ${isOfEvent}
    order by id desc
    limit ${size}
    offset ${offset}
  `
}

/** The number of deliveries in the list. */
function totalOf(db: Db, filters: DeliveryFilters): Fragment {
  const { status, event, from, to } = filters
  const endpoints = endpointsOf(db, filters)
  const isOfEvent = eventCondition(db, filters)
  const counted = sourcesIn(db, filters, isInPeriodById(db, from, to))
  // Endpoint by endpoint: for all of them at once, the planner could read the whole log.
  const numberOf = (source: Fragment): Fragment =>
    endpoints
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
  const isListed = endpoints ? db`endpoint_id in (${endpoints})` : db`true`
  const numberOfAll = event || from || to ? numberOf(counted.any) : numberKept(db, isListed)
  if (status === undefined) return numberOfAll
  return status === 'delivered' && !event
    ? db`${numberOfAll} - ${numberOf(counted.missed)} - ${numberOf(counted.pending)}`
    : numberOf(counted[status])
}

/** The ids of the endpoints of the list; undefined if it has those of all sellers. */
const endpointsOf = (db: Db, { accountId, endpointId }: DeliveryFilters): Fragment | undefined =>
  accountId === undefined && endpointId === undefined
    ? undefined
    : db`
        select id
        from webhook_endpoints
        where ${endpointId === undefined ? db`account_id = ${accountId!}` : db`id = ${endpointId}`}
          ${endpointId !== undefined && accountId !== undefined ? db`and account_id = ${accountId}` : db``}
      `

/** The queue doesn't have the event, and neither have deliveries of an earlier version: theirs is looked up. */
const eventCondition = (db: Db, { event }: DeliveryFilters): Fragment =>
  event === undefined
    ? db``
    : db`
        and coalesce(
          deliveries.event,
          (select e.event from events e where e.id = deliveries.event_id)
        ) = ${event}
      `

/**
 * The rows to read for each status.
 *
 * @param period the condition of `from` and `to` on `deliveries`
 */
function sourcesIn(
  db: Db,
  { from, to }: DeliveryFilters,
  period: Fragment,
): Record<DeliveryStatus | 'any' | 'missed', Fragment> {
  const kept = isKept(db)
  return {
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
  }
}

const tooFar = () =>
  validationError({
    page: [
      `Pages reach only the newest ${groupDigits(MAX_PAGED)} deliveries of a list. Use from and to to list others.`,
    ],
  })
