import type { Context } from '../context.ts'
import type { WebhookEvent } from '../enums.ts'

/** Something that happened and that a seller is told of (§6.1). */
export type NewEvent = {
  accountId: number
  event: WebhookEvent
  /** The payload's `data` (§6.3), its keys in the order in which they're sent. */
  data: object
}

/**
 * Writes down what happened and whom it's sent to, as a part of the transaction in which it does: an event and its
 * deliveries are there when their cause is. Its data is written once, as the bytes that are sent. It goes to the
 * endpoints that are subscribed now; a disabled one's is skipped, and can be sent later.
 *
 * @returns how many deliveries are to be made
 */
export async function recordEvents(
  { db, now, signal }: Context,
  events: NewEvent[],
): Promise<number> {
  if (events.length === 0) return 0
  const written = await db<{ status: string }[]>`
    with happened as (
      insert into events (account_id, event, data, created_at)
      select account_id, event, data, ${now()}::timestamptz
      from unnest(
        ${events.map(({ accountId }) => accountId)}::bigint[],
        ${events.map(({ event }) => event)}::text[],
        ${events.map(({ data }) => JSON.stringify(data))}::text[]
      ) with ordinality as new_event (account_id, event, data, place)
      order by place
      returning id, account_id, event, created_at
    )
    insert into deliveries (event_id, endpoint_id, status, next_attempt_at, created_at)
    select
      happened.id,
      endpoint.id,
      case when endpoint.disabled_at is null then 'pending' else 'skipped' end,
      case when endpoint.disabled_at is null then happened.created_at end,
      happened.created_at
    from happened
    join webhook_endpoints endpoint
      on endpoint.account_id = happened.account_id
      and endpoint.deleted_at is null
      and happened.event = any(endpoint.events)
    order by happened.id, endpoint.id
    returning status
  `
  await signal('deliveries')
  return written.filter(({ status }) => status === 'pending').length
}

/** The same for one. */
export const recordEvent = (ctx: Context, event: NewEvent) => recordEvents(ctx, [event])
