import type { Context } from '../context.ts'
import { inBatches } from '../database/batches.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Db, Fragment } from '../database/sql.ts'
import { sendMail } from '../mail/outbox.ts'
import { addNotice } from '../notices/notices.ts'
import { attemptRow } from './attempt-row.ts'
import { type ClaimedDelivery, type FailedAttempt, MAX_ATTEMPTS_KEPT } from './delivery.ts'
import { disabledEmail, type FailingEndpoint, publicPartOf, warningEmail } from './emails.ts'
import { DISABLED_AFTER, WARNED_AFTER } from './endpoint.ts'
import { type Capacity, INITIAL_CONCURRENCY } from './endpoint-concurrency.ts'
import type { Outcome, RecordableOutcome } from './outcome.ts'

/** Real time that a lease has beyond WEBHOOK_TIMEOUT_MS: for a busy process, and for recording the outcome. */
const LEASE_MARGIN_MS = 20_000

/**
 * The claim. ../queue/README.md explains leases and fencing tokens; deliveries are claimed in bulk, endpoint by endpoint.
 *
 * `delivery_queue` has a row per delivery with something to do: an attempt, now or later. Its index
 * `delivery_queue_due (endpoint_id, due_at, delivery_id)` is the order of the claims. `deliveries` is the log. A claim
 * takes as many deliveries of each endpoint as its capacity permits, so it never walks through the queue of an endpoint
 * that doesn't respond, even if that has a million rows. Its cost depends on the number of endpoints. One statement has
 * three steps:
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
  const { endpointIds, limits, dueAt, ids } = bindableCapacity(capacity)
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
  const { endpointIds, limits, dueAt, ids } = bindableCapacity(capacity)
  return leaseDue(
    ctx,
    max,
    db`
      with recursive ${queuedEndpoints(db, afterEndpoint)}
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

/** The endpoints with an id above `after` that have a queue, as `queued`, in the order of their ids; then a null. */
const queuedEndpoints = (db: Db, after: number) => db`
  queued as (
    (
      select endpoint_id
      from delivery_queue
      where endpoint_id > ${after}
      order by endpoint_id
      limit 1
    )
    union all
    select (
      select next.endpoint_id
      from delivery_queue next
      where next.endpoint_id > queued.endpoint_id
      order by next.endpoint_id
      limit 1
    )
    from queued
    where queued.endpoint_id is not null
  )
`

/** A time as an item of an array: the client takes an array of dates for a single one. */
const bindable = (time: Date | null | undefined) => time?.toISOString() ?? null

const bindableCapacity = ({ endpointIds, limits, cursors }: Capacity) => ({
  endpointIds,
  limits,
  dueAt: cursors.map((cursor) => bindable(cursor?.dueAt)),
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
        select q.ctid as row_address
        from delivery_queue q
        where
          q.endpoint_id = endpoint.endpoint_id
          and q.due_at <= ${at}
          and (q.due_at, q.delivery_id) > (
            coalesce(endpoint.after_due_at, '-infinity'), coalesce(endpoint.after_id, 0)
          )
          and (q.leased_until is null or q.leased_until < clock_timestamp())
        order by q.due_at, q.delivery_id
        limit endpoint.claimable
        for update skip locked
      ) next
      limit ${max}
    ),
    claim as materialized (
      select nextval('delivery_claims') as id
    ),
    claimed as (
      update delivery_queue
      set
        claim_id = (select id from claim),
        leased_until = clock_timestamp()
          + make_interval(secs => ${(config.webhookTimeoutMs + LEASE_MARGIN_MS) / 1000})
      -- By row address, known from the lock: no search, whatever number of rows the planner expects.
      where ctid = any(array(select row_address from due))
      returning
        delivery_id, claim_id, event_id, endpoint_id, tries, first_attempt_at, next_attempt_at,
        resend_at, due_at
    )
    select
      claimed.delivery_id as id,
      claimed.claim_id as "claimId",
      claimed.endpoint_id as "endpointId",
      w.account_id as "accountId",
      w.disabled_at is null and w.deleted_at is null as "isWanted",
      w.secret_number as "secretNumber",
      e.event,
      e.data,
      e.created_at as "createdAt",
      claimed.due_at as "dueAt",
      claimed.tries,
      claimed.first_attempt_at as "firstAttemptAt",
      claimed.next_attempt_at is null or claimed.next_attempt_at > ${at} as "isResend",
      claimed.resend_at as "resendAt"
    from claimed
    -- OFFSET 0 forces one lookup per row: a hash join would read all events.
    cross join lateral (select * from events where id = claimed.event_id offset 0) e
    cross join lateral (
      select account_id, disabled_at, deleted_at, secret_number
      from webhook_endpoints
      where id = claimed.endpoint_id
      offset 0
    ) w
  `
}

/**
 * Records outcomes, in one statement. A success resets the endpoint's count of failures (§2.10). `failDelivery` records
 * failed deliveries.
 */
export async function recordOutcomes(
  ctx: Pick<Context, 'db'>,
  outcomes: RecordableOutcome[],
): Promise<void> {
  await record(ctx, outcomes)
}

/**
 * Takes the deliveries from the queue, writes their outcomes to the log, and returns those with a retry or a requested
 * resend to the queue. It writes to the queue first and then to the log, like every statement that writes to both, so
 * that they don't deadlock. An outcome whose claim has been superseded changes nothing.
 *
 * @returns how many outcomes were recorded
 */
async function record({ db }: Pick<Context, 'db'>, outcomes: Outcome[]): Promise<number> {
  const sorted = byClaim(outcomes, ({ delivery }) => delivery)
  const deliveries = sorted.map(({ delivery }) => delivery)
  const { count } = await db`
    with gone as (
      delete from delivery_queue q
      where ${claimStillHeld(db, deliveries)}
      returning
        q.delivery_id,
        q.event_id,
        q.endpoint_id,
        q.tries,
        q.first_attempt_at,
        q.next_attempt_at as planned_at,
        q.resend_at,
        ${ordinalIn(db, deliveries)} as ordinal
    ),
    given as (
      select
        gone.*,
        (${sorted.map(({ status }) => status)}::text[])[ordinal] as given_status,
        (${sorted.map(({ attempt }) => attempt && JSON.stringify(attemptRow(attempt)))}::text[])[ordinal]::jsonb as attempt,
        (${sorted.map(({ attempt, status }) => (status === 'pending' ? bindable(attempt?.at) : null))}::timestamptz[])[ordinal] as tried_at,
        (${sorted.map(({ nextAttemptAt }) => bindable(nextAttemptAt))}::timestamptz[])[ordinal] as given_next_at,
        (${sorted.map(({ delivery }) => bindable(delivery.resendAt))}::timestamptz[])[ordinal] as resent_for
      from gone
    ),
    outcome as (
      select
        delivery_id,
        event_id,
        endpoint_id,
        -- A resend leaves the status of a delivery without a further attempt as it is.
        case when is_over and planned_at is not null then 'skipped' else given_status end as status,
        attempt,
        tries + (tried_at is not null)::int as tries,
        coalesce(first_attempt_at, tried_at) as first_attempt_at,
        case
          when is_over then null
          when given_status = 'unchanged' then planned_at
          else given_next_at
        end as next_attempt_at,
        -- A resend requested during the attempt is still due.
        nullif(resend_at, resent_for) as resend_at
      from (
        select
          *,
          -- The endpoint was disabled or deleted during the attempt: no retry.
          given_status in ('pending', 'unchanged') and not exists (
            select
            from webhook_endpoints w
            where w.id = endpoint_id and w.disabled_at is null and w.deleted_at is null
          ) as is_over
        from given
      ) checked
    ),
    again as (
      insert into delivery_queue (
        delivery_id, event_id, endpoint_id, tries, first_attempt_at, next_attempt_at, resend_at
      )
      select
        delivery_id, event_id, endpoint_id, tries, first_attempt_at, next_attempt_at, resend_at
      from outcome
      where next_attempt_at is not null or resend_at is not null
    ),
    reset as (
      update webhook_endpoints
      set consecutive_failures = 0
      where id in (
        select id
        from webhook_endpoints
        where
          consecutive_failures > 0
          and disabled_at is null
          and id in (select endpoint_id from outcome where status = 'delivered')
        order by id
        for no key update
      )
    )
    update deliveries d
    set
      status = case outcome.status when 'unchanged' then d.status else outcome.status end,
      is_skipped = case outcome.status when 'unchanged' then d.is_skipped else outcome.status = 'skipped' end,
      attempts = case
        when outcome.attempt is null then d.attempts
        when jsonb_array_length(d.attempts) >= ${MAX_ATTEMPTS_KEPT} then d.attempts - 0 || outcome.attempt
        else d.attempts || outcome.attempt
      end
    from outcome
    where d.id = outcome.delivery_id
  `
  return count
}

/**
 * Records that the last attempt at a delivery failed, and counts the failure for its endpoint (§6.6). In the same
 * transaction, the fifth failure in a row e-mails a warning, and the tenth disables the endpoint and skips its pending
 * deliveries. Failures of a disabled or deleted endpoint are not counted.
 */
export function failDelivery(
  ctx: Context,
  delivery: ClaimedDelivery,
  attempt: FailedAttempt,
): Promise<void> {
  return inTransaction(ctx, async (tx) => {
    const { db, now } = tx
    const recorded = await record(tx, [
      { delivery, attempt, status: 'failed', nextAttemptAt: null },
    ])
    if (recorded === 0) return
    const reason = attempt.error
    const [endpoint] = await db<(FailingEndpoint & { accountId: number; failures: number })[]>`
      update webhook_endpoints w
      set
        consecutive_failures = consecutive_failures + 1,
        failure_reason = ${reason},
        disabled_at = case when consecutive_failures + 1 >= ${DISABLED_AFTER} then ${now()}::timestamptz end
      from accounts a
      where
        w.id = ${delivery.endpointId}
        and w.disabled_at is null
        and w.deleted_at is null
        and a.id = w.account_id
      returning
        w.consecutive_failures as failures,
        w.url,
        a.id as "accountId",
        a.shop_name as "shopName",
        a.email
    `
    if (!endpoint) return
    const { accountId, failures, url } = endpoint
    if (failures === WARNED_AFTER) {
      await sendMail(tx, warningEmail(tx, endpoint, attempt), { accountId })
    }
    if (failures < DISABLED_AFTER) return
    await skipPending(tx, delivery.endpointId)
    const facts = { url: publicPartOf(url), reason }
    await addNotice(tx, accountId, 'endpoint_disabled', delivery.endpointId, facts)
    await sendMail(tx, disabledEmail(tx, endpoint, attempt), { accountId })
  })
}

/** Ends the leases of deliveries without an attempt, so that any process can claim them at once. */
export async function releaseDeliveries(
  { db }: Pick<Context, 'db'>,
  deliveries: ClaimedDelivery[],
): Promise<void> {
  const sorted = byClaim(deliveries, (delivery) => delivery)
  await db`update delivery_queue q set leased_until = null where ${claimStillHeld(db, sorted)}`
}

/** In the order that `ordinalIn` needs. The latest claim of a delivery comes last, and is the one that is found. */
const byClaim = <T>(items: T[], claimOf: (item: T) => ClaimedDelivery): T[] =>
  items.toSorted((a, b) => {
    const [one, other] = [claimOf(a), claimOf(b)]
    return one.id - other.id || one.claimId - other.claimId
  })

/**
 * Selects rows of the queue by this process's claims, in the order of `byClaim`. A join would be slow: if no row was leased
 * when PostgreSQL analyzed the table, it expects none, and compares every claim with every row.
 */
const claimStillHeld = (db: Db, claims: ClaimedDelivery[]) => db`
  q.delivery_id = any(${claims.map(({ id }) => id)}::bigint[])
  and q.claim_id = (${claims.map(({ claimId }) => claimId)}::bigint[])[${ordinalIn(db, claims)}]
  and q.leased_until is not null
`

/** The ordinal of a row of the queue in a sorted list that contains it, by a binary search. */
const ordinalIn = (db: Db, claims: ClaimedDelivery[]) => db`
  width_bucket(q.delivery_id, ${claims.map(({ id }) => id)}::bigint[])
`

/** Deliveries that a transaction which disables, deletes or enables an endpoint skips: it must end within its time limit. */
export const MAX_SKIPPED = 5_000

/**
 * Skips pending deliveries of an endpoint, in the transaction that disables or deletes it. Signals the workers to return
 * the deliveries that wait for capacity. Attempts under way may finish. `skipUnwanted` skips the rest of a long queue,
 * unless a claim does so first, as for deliveries that are recorded meanwhile.
 *
 * @returns the number of deliveries that it took from the queue
 */
export async function skipPending(
  { db, signal }: Context,
  endpointId: number,
  max = MAX_SKIPPED,
): Promise<number> {
  const [skipped] = await db<[{ count: number }]>`
    with gone as (
      delete from delivery_queue
      where delivery_id = any(array(
        select delivery_id
        from delivery_queue
        where
          endpoint_id = ${endpointId}
          and (leased_until is null or leased_until < clock_timestamp())
        order by due_at, delivery_id
        limit ${max}
        for update skip locked
      ))
      returning delivery_id, next_attempt_at
    ),
    skipped as (
      update deliveries
      set status = 'skipped', is_skipped = true
      where id in (select delivery_id from gone where next_attempt_at is not null)
    )
    select count(*) from gone
  `
  await signal('endpoints')
  return skipped.count
}

/** Skips the pending deliveries of disabled and deleted endpoints that `skipPending` has left. */
export async function skipUnwanted(ctx: Context): Promise<void> {
  const { db } = ctx
  const endpoints = await db<{ id: number }[]>`
    with recursive ${queuedEndpoints(db, 0)}
    select id
    from queued
    join webhook_endpoints on id = endpoint_id
    where disabled_at is not null or deleted_at is not null
  `
  for (const { id } of endpoints) {
    await inBatches((max) =>
      inTransaction(ctx, async (tx) => {
        // The lock keeps it from being enabled.
        const [unwanted] = await tx.db`
          select 1
          from webhook_endpoints
          where id = ${id} and (disabled_at is not null or deleted_at is not null)
          for share
        `
        return unwanted ? skipPending(tx, id, max) : 0
      }),
    )
  }
}
