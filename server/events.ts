import type { Context } from './context.ts'
import type { WebhookEvent } from './values.ts'

/** Something that happened and that a seller is told of (§6.1). */
export type NewEvent = {
  accountId: number
  event: WebhookEvent
  /** The payload's `data` (§6.3), its keys in the order in which they're sent. */
  data: object
}

/**
 * Writes down what happened, as a part of the transaction in which it does: an event is there when its cause is. Its
 * data is written once, as the bytes that are sent.
 */
export async function recordEvents(
  { db, now }: Pick<Context, 'db' | 'now'>,
  events: NewEvent[],
): Promise<void> {
  if (events.length === 0) return
  await db`
    insert into events (account_id, event, data, created_at)
    select account_id, event, data, ${now()}::timestamptz
    from unnest(
      ${events.map(({ accountId }) => accountId)}::bigint[],
      ${events.map(({ event }) => event)}::text[],
      ${events.map(({ data }) => JSON.stringify(data))}::text[]
    ) with ordinality as happened (account_id, event, data, place)
    order by place
  `
}

/** The same for one. */
export const recordEvent = (ctx: Pick<Context, 'db' | 'now'>, event: NewEvent) =>
  recordEvents(ctx, [event])
