import type { Context } from '../context.ts'
import type { Page } from '../database/paging.ts'
import type { Db } from '../database/sql.ts'
import { conflict } from '../errors.ts'
import { type AttemptRow, attemptFrom } from './attempt-row.ts'
import { type Delivery, type DeliveryStatus, deliveryNotFound } from './delivery.ts'
import { requireEndpoint } from './endpoints.ts'

const DAYS = 24 * 60 * 60 * 1000
const ROWS_AT_ONCE = 1_000

/**
 * Asks for one more attempt, at once and beside the schedule.
 *
 * @throws not_found, conflict when the endpoint is disabled or deleted
 */
export async function resendDelivery(ctx: Context, id: number): Promise<Delivery> {
  const { count } = await ctx.db`
    update deliveries d
    set resend_at = ${ctx.now()}, resent_in = pg_current_xact_id()
    from webhook_endpoints w
    where
      d.id = ${id} and w.id = d.endpoint_id and w.disabled_at is null and w.deleted_at is null
  `
  const delivery = await getDelivery(ctx, id)
  if (count === 0) throw endpointIsOff()
  await ctx.signal('deliveries')
  return delivery
}

/**
 * Asks for one more attempt at everything that was skipped or has failed in a time.
 *
 * @param span both ends inclusive, in the whole seconds that answers show
 * @returns how many
 * @throws not_found for another account's endpoint, conflict when it's disabled
 */
export async function resendDeliveries(
  ctx: Context,
  accountId: number,
  endpointId: number,
  span: { from: Date; to: Date },
): Promise<number> {
  const { db, now } = ctx
  const { disabledAt } = await requireEndpoint(ctx, accountId, endpointId)
  if (disabledAt) throw endpointIsOff()
  const { count } = await db`
    update deliveries
    set resend_at = ${now()}, resent_in = pg_current_xact_id()
    where id in (
      select id
      from deliveries
      where
        endpoint_id = ${endpointId}
        and status in ('failed', 'skipped')
        and date_trunc('second', created_at) between ${span.from} and ${span.to}
      -- Who holds one now is sending it again already.
      for update skip locked
    )
  `
  await ctx.signal('deliveries')
  return count
}

const endpointIsOff = () => conflict('The webhook endpoint is disabled or deleted.')

/** @throws not_found */
async function getDelivery({ db }: Context, id: number): Promise<Delivery> {
  const [delivery] = await read(db, [id])
  if (!delivery) throw deliveryNotFound()
  return delivery
}

export type DeliveryFilters = {
  accountId?: number | undefined
  endpointId?: number | undefined
  status?: DeliveryStatus | undefined
}

/** One page of deliveries, newest first, and how many there are. */
export async function listDeliveries(
  { db }: Context,
  { accountId, endpointId, status }: DeliveryFilters,
  { perPage, offset }: Page,
): Promise<{ rows: Delivery[]; total: number }> {
  // Spelt out, so that the indexes of what is due or undelivered serve.
  const wanted = {
    any: db`true`,
    pending: db`status = 'pending' and waiting_for is not null`,
    delivered: db`status = 'delivered'`,
    failed: db`status = 'failed'`,
    skipped: db`status = 'skipped'`,
  }[status ?? 'any']
  const isOfSome = accountId !== undefined || endpointId !== undefined
  const ofWhom = db`
    select id
    from webhook_endpoints
    where ${endpointId === undefined ? db`account_id = ${accountId!}` : db`id = ${endpointId}`}
      ${endpointId !== undefined && accountId !== undefined ? db`and account_id = ${accountId}` : db``}
  `
  const [ids, [counted]] = await Promise.all([
    isOfSome
      ? db<{ id: number }[]>`
          select one.id
          from (${ofWhom}) endpoint
          cross join lateral (
            select id
            from deliveries
            where endpoint_id = endpoint.id and ${wanted}
            order by id desc
            limit ${offset + perPage}
          ) one
          order by one.id desc
          limit ${perPage}
          offset ${offset}
        `
      : db<{ id: number }[]>`
          select id
          from deliveries
          where ${wanted}
          order by id desc
          limit ${perPage}
          offset ${offset}
        `,
    db<{ total: number }[]>`
      select count(*) as total
      from deliveries
      where ${wanted} ${isOfSome ? db`and endpoint_id in (${ofWhom})` : db``}
    `,
  ])
  const rows = await read(
    db,
    ids.map(({ id }) => id),
  )
  return { rows, total: counted?.total ?? 0 }
}

async function read(db: Db, ids: number[]): Promise<Delivery[]> {
  const rows = await db<(Omit<Delivery, 'attempts'> & { attempts: AttemptRow[] })[]>`
    select
      d.id,
      e.account_id as "accountId",
      d.endpoint_id as "endpointId",
      e.event,
      e.data,
      d.status,
      d.attempts,
      d.due_at as "nextAttemptAt",
      d.created_at as "createdAt"
    from deliveries d
    join events e on e.id = d.event_id
    where d.id = any(${ids}::bigint[])
    order by d.id desc
  `
  return rows.map(({ attempts, ...delivery }) => ({
    ...delivery,
    attempts: attempts.map(attemptFrom),
  }))
}

/**
 * Forgets deliveries that ended long ago, then the events that none is left of, then deleted endpoints. Who holds a
 * delivery meanwhile, to send it again, keeps it.
 */
export async function pruneDeliveries({ db, now, config }: Context): Promise<void> {
  const before = new Date(now().getTime() - config.webhookRetentionDays * DAYS)
  await inParts(
    (after) => db<{ last: number }[]>`
      with looked_at as (
        select id, created_at
        from deliveries
        where id > ${after}
        order by id
        limit ${ROWS_AT_ONCE}
      ),
      forgotten as (
        delete from deliveries
        where id in (
          select id
          from deliveries
          where
            id in (select id from looked_at)
            and created_at <= ${before}
            and due_at is null
          for update skip locked
        )
      )
      select max(id) as last
      from looked_at
      having bool_or(created_at <= ${before})
    `,
  )
  await inParts(
    (after) => db<{ last: number }[]>`
      with looked_at as (
        select id, created_at
        from events
        where id > ${after}
        order by id
        limit ${ROWS_AT_ONCE}
      ),
      forgotten as (
        delete from events
        where id in (
          select id
          from events
          where
            id in (select id from looked_at)
            and created_at <= ${before}
            and not exists (select from deliveries where event_id = events.id)
          for update skip locked
        )
      )
      select max(id) as last
      from looked_at
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

/** Ids rise with time: it goes on from the oldest, past those that are kept, until all of a part are young. */
async function inParts(forget: (after: number) => PromiseLike<{ last: number }[]>): Promise<void> {
  for (let after: number | undefined = 0; after !== undefined; ) {
    const [part]: { last: number }[] = await forget(after)
    after = part?.last
  }
}
