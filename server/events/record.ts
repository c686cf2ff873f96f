import type { Context } from '../context.ts'
import type { Payload } from './payloads.ts'

/** An event of an account (§6.1). */
export type NewEvent = Payload & {
  accountId: number
  /** The slice that it is about. */
  sliceId?: number
}

/**
 * Writes events and their deliveries, in the transaction of their cause: they exist if and only if that is committed.
 * `data` is serialized here once, as the bytes of every attempt. Each event goes to the endpoints that are subscribed
 * to it now. The delivery to a disabled endpoint is skipped, and can be resent later.
 *
 * @returns the number of pending deliveries
 */
export async function recordEvents(
  { db, now, signal }: Context,
  events: NewEvent[],
): Promise<number> {
  if (events.length === 0) return 0
  const { count } = await db`
    with recorded as (
      insert into events (account_id, event, data, slice_id, created_at)
      select account_id, event, data, slice_id, ${now()}::timestamptz
      from unnest(
        ${events.map(({ accountId }) => accountId)}::bigint[],
        ${events.map(({ event }) => event)}::text[],
        ${events.map(({ data }) => JSON.stringify(data))}::text[],
        ${events.map(({ sliceId }) => sliceId ?? null)}::bigint[]
      ) with ordinality as new_event (account_id, event, data, slice_id, index)
      order by index
      returning id, account_id, event, created_at
    ),
    logged as (
      insert into deliveries (event_id, event, endpoint_id, status, is_skipped, created_at)
      select
        recorded.id,
        recorded.event,
        endpoint.id,
        case when endpoint.disabled_at is null then 'pending' else 'skipped' end,
        endpoint.disabled_at is not null,
        recorded.created_at
      from recorded
      join webhook_endpoints endpoint
        on endpoint.account_id = recorded.account_id
        and endpoint.deleted_at is null
        and recorded.event = any(endpoint.events)
      order by recorded.id, endpoint.id
      returning id, event_id, endpoint_id, status, created_at
    )
    insert into delivery_queue (delivery_id, event_id, endpoint_id, next_attempt_at)
    select id, event_id, endpoint_id, created_at
    from logged
    where status = 'pending'
  `
  await signal('deliveries')
  return count
}

/** Writes one event, like `recordEvents`. */
export const recordEvent = (ctx: Context, event: NewEvent) => recordEvents(ctx, [event])
