import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Db } from '../database/sql.ts'
import { sendMail } from '../mail/outbox.ts'
import { attemptRow } from './attempt-row.ts'
import type { Attempt, ClaimedDelivery } from './delivery.ts'
import { disabledEmail, type FailingEndpoint, warningEmail } from './emails.ts'
import { DISABLED_AFTER, WARNED_AFTER } from './endpoint.ts'
import { type Capacity, INITIAL_CONCURRENCY } from './endpoint-concurrency.ts'
import type { RecordableOutcome } from './outcome.ts'

type Fragment = ReturnType<Db>

/** Real time that a lease has beyond WEBHOOK_TIMEOUT_MS: for a busy process, and for recording the outcome. */
const LEASE_MARGIN_MS = 20_000

/**
 * The claim. ../queue/README.md explains leases and fencing tokens; deliveries are claimed in bulk, endpoint by endpoint.
 *
 * The queue is the partial index `deliveries_due (waiting_for, due_at, id)`. `waiting_for` is the endpoint of a delivery
 * that is due now or later, and null otherwise. A claim takes as many deliveries of each endpoint as its capacity
 * permits, so it never walks through the queue of an endpoint that doesn't respond, even if that has a million rows. Its
 * cost depends on the number of endpoints. One statement has three steps:
 *
 * 1. List the endpoints: the given ones, or all that have a queue. The second is a loose index scan, which PostgreSQL
 *    lacks and a recursive query emulates: each step finds the next larger endpoint id by one index lookup.
 * 2. Lock the next due deliveries of each endpoint. They start after a cursor, because the index keeps delivered rows
 *    until it's vacuumed, and a claim that started at the beginning would walk over them each time.
 * 3. Lease the locked rows and return them with their events.
 *
 * A worker calls `claimForAllEndpoints` every 20 ms, and `claimForEndpoints` in between, for endpoints that have a
 * backlog and capacity.
 */

/** Claims due deliveries of the endpoints in `capacity`, at most `max` in total. */
export function claimForEndpoints(
  ctx: Context,
  { max, capacity }: { max: number; capacity: Capacity },
): Promise<ClaimedDelivery[]> {
  const { db } = ctx
  const { endpointIds, limits, dueAt, ids } = bindable(capacity)
  return leaseDue(
    ctx,
    max,
    db`
      select endpoint_id, claimable, after_due_at, after_id
      from unnest(
        ${endpointIds}::bigint[], ${limits}::int[], ${dueAt}::timestamptz[], ${ids}::bigint[]
      ) as capacity (endpoint_id, claimable, after_due_at, after_id)
    `,
  )
}

/**
 * Claims due deliveries of all endpoints, at most `max` in total, in the order of the endpoints' ids. An endpoint that
 * is not in `capacity` may have INITIAL_CONCURRENCY.
 *
 * @param wanted.afterEndpoint skips endpoints up to this id: where a claim reached `max`, the next one continues
 */
export function claimForAllEndpoints(
  ctx: Context,
  { max, capacity, afterEndpoint }: { max: number; capacity: Capacity; afterEndpoint: number },
): Promise<ClaimedDelivery[]> {
  const { db } = ctx
  const { endpointIds, limits, dueAt, ids } = bindable(capacity)
  return leaseDue(
    ctx,
    max,
    db`
      with recursive queued as (
        (
          select waiting_for as endpoint_id
          from deliveries
          where waiting_for > ${afterEndpoint}
          order by waiting_for
          limit 1
        )
        union all
        select (
          select next.waiting_for
          from deliveries next
          where next.waiting_for > queued.endpoint_id
          order by next.waiting_for
          limit 1
        )
        from queued
        where queued.endpoint_id is not null
      )
      select
        endpoint_id,
        coalesce((${limits}::int[])[index], ${INITIAL_CONCURRENCY}) as claimable,
        (${dueAt}::timestamptz[])[index] as after_due_at,
        (${ids}::bigint[])[index] as after_id
      from queued
      -- Not a join, which could read all of queued: the claim ends as soon as it has enough deliveries.
      cross join lateral array_position(${endpointIds}::bigint[], endpoint_id) as index
      where endpoint_id is not null
    `,
  )
}

const bindable = ({ endpointIds, limits, cursors }: Capacity) => ({
  endpointIds,
  limits,
  dueAt: cursors.map((cursor) => cursor?.dueAt.toISOString() ?? null),
  ids: cursors.map((cursor) => cursor?.id ?? null),
})

/**
 * Steps 2 and 3.
 *
 * @param endpoints step 1, a query for endpoint_id, claimable, after_due_at and after_id
 */
function leaseDue(
  { db, now, config }: Context,
  max: number,
  endpoints: Fragment,
): Promise<ClaimedDelivery[]> {
  const at = now()
  return db<ClaimedDelivery[]>`
    with due as (
      select next.row_address
      from (${endpoints}) as endpoint
      cross join lateral (
        select d.ctid as row_address
        from deliveries d
        where
          d.waiting_for = endpoint.endpoint_id
          and d.due_at <= ${at}
          and (d.due_at, d.id) > (
            coalesce(endpoint.after_due_at, '-infinity'), coalesce(endpoint.after_id, 0)
          )
          and (d.leased_until is null or d.leased_until < clock_timestamp())
        order by d.due_at, d.id
        limit endpoint.claimable
        for update skip locked
      ) next
      limit ${max}
    ),
    claimed as (
      update deliveries
      set
        claims = claims + 1,
        leased_until = clock_timestamp()
          + make_interval(secs => ${(config.webhookTimeoutMs + LEASE_MARGIN_MS) / 1000})
      -- By row address, known from the lock: no search, whatever number of rows the planner expects.
      where ctid = any(array(select row_address from due))
      returning
        id, claims, event_id, endpoint_id, created_at, tries, first_attempt_at, next_attempt_at,
        resend_at, due_at
    )
    select
      claimed.id,
      claimed.claims,
      claimed.endpoint_id as "endpointId",
      (
        select w.disabled_at is null and w.deleted_at is null
        from webhook_endpoints w
        where w.id = claimed.endpoint_id
      ) as "isWanted",
      e.event,
      e.data,
      claimed.created_at as "createdAt",
      claimed.due_at as "dueAt",
      claimed.tries,
      claimed.first_attempt_at as "firstAttemptAt",
      claimed.next_attempt_at is null or claimed.next_attempt_at > ${at} as "isResend",
      claimed.resend_at as "resendAt"
    from claimed
    -- OFFSET 0 forces one lookup per row: a hash join would read all events.
    cross join lateral (select * from events where id = claimed.event_id offset 0) e
  `
}

/**
 * Records outcomes, in one statement. A success resets the endpoint's count of failures (§2.10). `failDelivery` records
 * failed deliveries.
 */
export async function recordOutcomes(
  { db }: Pick<Context, 'db'>,
  outcomes: RecordableOutcome[],
): Promise<void> {
  const rows = outcomes.map(({ delivery, attempt, status, nextAttemptAt }) => ({
    id: delivery.id,
    claims: delivery.claims,
    endpoint_id: delivery.endpointId,
    status: status === 'unchanged' ? null : status,
    counts: attempt !== null && !delivery.isResend,
    attempt: attempt && attemptRow(attempt),
    began_at: attempt?.at ?? null,
    next_attempt_at: nextAttemptAt,
    resend_at: delivery.resendAt,
  }))
  await db`
    with outcome as (
      select
        *,
        -- The endpoint was disabled or deleted during the attempt: no retry.
        result.status = 'pending' and not exists (
          select
          from webhook_endpoints w
          where w.id = result.endpoint_id and w.disabled_at is null and w.deleted_at is null
        ) as is_over
      from jsonb_to_recordset(${db.json(rows as never)}) as result (
        id bigint, claims integer, endpoint_id bigint, status text, counts boolean, attempt jsonb,
        began_at timestamptz, next_attempt_at timestamptz, resend_at timestamptz
      )
    ),
    recorded as (
      update deliveries d
      set
        status = case when outcome.is_over then 'skipped' else coalesce(outcome.status, d.status) end,
        attempts = case
          when jsonb_typeof(outcome.attempt) = 'object' then d.attempts || outcome.attempt
          else d.attempts
        end,
        tries = d.tries + outcome.counts::int,
        first_attempt_at = case
          when outcome.counts then coalesce(d.first_attempt_at, outcome.began_at)
          else d.first_attempt_at
        end,
        next_attempt_at = case
          when outcome.status is null then d.next_attempt_at
          when not outcome.is_over then outcome.next_attempt_at
        end,
        -- A resend requested during the attempt is still due.
        resend_at = nullif(d.resend_at, outcome.resend_at),
        leased_until = null
      from outcome
      where ${claimStillHeld(db, db`outcome`)}
      returning d.endpoint_id, outcome.status is not distinct from 'delivered' as is_delivered
    )
    update webhook_endpoints
    set consecutive_failures = 0
    where id in (
      select id
      from webhook_endpoints
      where
        consecutive_failures > 0
        and disabled_at is null
        and id in (select endpoint_id from recorded where is_delivered)
      order by id
      for no key update
    )
  `
}

/**
 * Records that the last attempt at a delivery failed, and counts the failure for its endpoint (§6.6). In the same
 * transaction, the fifth failure in a row e-mails a warning, and the tenth disables the endpoint and skips its pending
 * deliveries. Failures of a disabled or deleted endpoint are not counted.
 */
export function failDelivery(
  ctx: Context,
  delivery: ClaimedDelivery,
  attempt: Attempt,
): Promise<void> {
  return inTransaction(ctx, async (tx) => {
    const { db, now } = tx
    const { count } = await db`
      update deliveries d
      set
        status = 'failed',
        attempts = d.attempts || ${db.json(attemptRow(attempt))},
        tries = d.tries + 1,
        first_attempt_at = coalesce(d.first_attempt_at, ${attempt.at}),
        next_attempt_at = null,
        resend_at = nullif(d.resend_at, ${delivery.resendAt}),
        leased_until = null
      from (select ${delivery.id}::bigint as id, ${delivery.claims}::int as claims) ours
      where ${claimStillHeld(db, db`ours`)}
    `
    if (count === 0) return
    const [endpoint] = await db<(FailingEndpoint & { failures: number })[]>`
      update webhook_endpoints w
      set
        consecutive_failures = consecutive_failures + 1,
        disabled_at = case when consecutive_failures + 1 >= ${DISABLED_AFTER} then ${now()}::timestamptz end
      from accounts a
      where
        w.id = ${delivery.endpointId}
        and w.disabled_at is null
        and w.deleted_at is null
        and a.id = w.account_id
      returning w.consecutive_failures as failures, w.url, a.shop_name as "shopName", a.email
    `
    if (!endpoint) return
    const { failures } = endpoint
    if (failures === WARNED_AFTER) await sendMail(tx, warningEmail(endpoint, attempt))
    if (failures < DISABLED_AFTER) return
    await skipPending(tx, delivery.endpointId)
    await sendMail(tx, disabledEmail(endpoint, attempt))
  })
}

/** Ends the leases of deliveries without an attempt, so that any process can claim them at once. */
export async function releaseDeliveries(
  { db }: Pick<Context, 'db'>,
  deliveries: ClaimedDelivery[],
): Promise<void> {
  await db`
    update deliveries d
    set leased_until = null
    from unnest(
      ${deliveries.map(({ id }) => id)}::bigint[],
      ${deliveries.map(({ claims }) => claims)}::int[]
    ) as ours (id, claims)
    where ${claimStillHeld(db, db`ours`)}
  `
}

const claimStillHeld = (db: Db, ours: Fragment) => db`
  d.id = ${ours}.id and d.claims = ${ours}.claims and d.leased_until is not null
`

/**
 * Skips the pending deliveries of an endpoint, in the transaction that disables or deletes it. Signals the workers to
 * return the deliveries that wait for capacity. Attempts under way may finish. Deliveries that are recorded meanwhile are
 * skipped when they are claimed.
 */
export async function skipPending({ db, signal }: Context, endpointId: number): Promise<void> {
  await db`
    update deliveries
    set
      status = case status when 'pending' then 'skipped' else status end,
      next_attempt_at = null,
      resend_at = null,
      leased_until = null
    where id in (
      select id
      from deliveries
      where
        waiting_for = ${endpointId}
        and (leased_until is null or leased_until < clock_timestamp())
      for update skip locked
    )
  `
  await signal('endpoints')
}
