import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Db } from '../database/sql.ts'
import { sendMail } from '../mail/outbox.ts'
import { attemptRow } from './attempt-row.ts'
import type { Attempt, ClaimedDelivery, Outcome } from './delivery.ts'
import { disabledLetter, type Failing, warningLetter } from './emails.ts'
import { DISABLED_AFTER, WARNED_AFTER } from './endpoint.ts'
import { type Capacity, INITIAL_CONCURRENCY } from './endpoint-concurrency.ts'

/**
 * What the lease allows beyond the time of an attempt: for a process that is busy, and to note the outcome. Real time;
 * what a killed process held is free after both.
 */
const LEASE_MARGIN_MS = 20_000

/** What to claim: of any endpoint, or, with `only`, of those that there is room for. */
export type Wanted = { max: number; capacity: Capacity } & (
  | { only: true }
  | { only?: false; after: number }
)

/**
 * Takes deliveries that are due, each for this process alone: endpoint after endpoint, as many of each as it has
 * places. What waits for one endpoint is never walked through on the way to another, however much it is.
 *
 * @param wanted.after endpoints up to this id have had their turn
 */
export function claimDeliveries(
  { db, now, config }: Context,
  wanted: Wanted,
): Promise<ClaimedDelivery[]> {
  const at = now()
  const { max, capacity, only = false } = wanted
  const { endpointIds, limits, cursors } = capacity
  const reachedAt = cursors.map((cursor) => cursor?.dueAt.toISOString() ?? '-infinity')
  const reachedId = cursors.map((cursor) => cursor?.id ?? 0)
  return db<ClaimedDelivery[]>`
    with recursive found as (
      (
        select waiting_for as endpoint_id
        from deliveries
        where ${!only}::boolean and waiting_for > ${wanted.only ? 0 : wanted.after}
        order by waiting_for
        limit 1
      )
      union all
      select (
        select next.waiting_for
        from deliveries next
        where next.waiting_for > found.endpoint_id
        order by next.waiting_for
        limit 1
      )
      from found
      where found.endpoint_id is not null
    ),
    waiting as (
      select endpoint_id, array_position(${endpointIds}::bigint[], endpoint_id) as place
      from (
        select endpoint_id from found where endpoint_id is not null
        union all
        select unnest(${only ? endpointIds : []}::bigint[])
      ) one
    ),
    due as (
      select one.place
      from waiting
      cross join lateral (
        select d.ctid as place
        from deliveries d
        where
          d.waiting_for = waiting.endpoint_id
          and d.due_at <= ${at}
          and (d.due_at, d.id) > (
            coalesce((${reachedAt}::text[])[waiting.place]::timestamptz, '-infinity'),
            coalesce((${reachedId}::bigint[])[waiting.place], 0)
          )
          and (d.leased_until is null or d.leased_until < clock_timestamp())
        order by d.due_at, d.id
        limit coalesce((${limits}::int[])[waiting.place], ${INITIAL_CONCURRENCY})
        for update skip locked
      ) one
      limit ${max}
    ),
    claimed as (
      update deliveries
      set
        claims = claims + 1,
        leased_until = clock_timestamp()
          + make_interval(secs => ${(config.webhookTimeoutMs + LEASE_MARGIN_MS) / 1000})
      -- By where they are, which is known from locking them: however many the planner expects, nothing is searched.
      where ctid = any(array(select place from due))
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
    -- One by one: these are few, whatever the size of the log.
    cross join lateral (select * from events where id = claimed.event_id offset 0) e
  `
}

/**
 * Notes how attempts ended, many with one statement. A success ends a row of failures (§2.10). What became `failed` is
 * for `failDelivery`.
 */
export async function recordOutcomes(
  { db }: Pick<Context, 'db'>,
  outcomes: Outcome[],
): Promise<void> {
  const rows = outcomes.map(({ delivery, attempt, status, nextAttemptAt }) => ({
    id: delivery.id,
    claims: delivery.claims,
    endpoint_id: delivery.endpointId,
    status: status ?? null,
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
        -- It was disabled or deleted meanwhile: there's no next attempt.
        one.status = 'pending' and not exists (
          select
          from webhook_endpoints w
          where w.id = one.endpoint_id and w.disabled_at is null and w.deleted_at is null
        ) as is_over
      from jsonb_to_recordset(${db.json(rows as never)}) as one (
        id bigint, claims integer, endpoint_id bigint, status text, counts boolean, attempt jsonb,
        began_at timestamptz, next_attempt_at timestamptz, resend_at timestamptz
      )
    ),
    settled as (
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
        -- One that was asked for meanwhile is still to come.
        resend_at = nullif(d.resend_at, outcome.resend_at),
        leased_until = null
      from outcome
      where ${claimStillHeld(db, db`outcome`)}
      returning d.endpoint_id, outcome.status is not distinct from 'delivered' as took
    )
    update webhook_endpoints
    set consecutive_failures = 0
    where id in (
      select id
      from webhook_endpoints
      where
        consecutive_failures > 0
        and disabled_at is null
        and id in (select endpoint_id from settled where took)
      order by id
      for no key update
    )
  `
}

/**
 * Notes that the last attempt failed, and counts that for the endpoint: after so many in a row it's disabled and
 * what waits for it skipped, all at once (§6.6). An endpoint that was disabled or deleted meanwhile counts nothing.
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
    const [endpoint] = await db<(Failing & { failures: number })[]>`
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
    if (failures === WARNED_AFTER) await sendMail(tx, warningLetter(endpoint, attempt))
    if (failures < DISABLED_AFTER) return
    await skipWaiting(tx, delivery.endpointId)
    await sendMail(tx, disabledLetter(endpoint, attempt))
  })
}

/** Leaves them to the next who looks, as if they had never been claimed. */
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

const claimStillHeld = (db: Db, ours: ReturnType<Db>) => db`
  d.id = ${ours}.id and d.claims = ${ours}.claims and d.leased_until is not null
`

/**
 * Ends the waiting for an endpoint that was disabled or deleted, as a part of that transaction; the workers put back
 * what they hold. What is under way right now is left to its end; what comes to wait meanwhile is skipped when it's due.
 */
export async function skipWaiting({ db, signal }: Context, endpointId: number): Promise<void> {
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
