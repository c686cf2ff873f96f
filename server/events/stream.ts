import type { Context } from '../context.ts'
import type { Db } from '../database/sql.ts'
import type { WebhookEvent } from '../enums.ts'

/**
 * Streams all events of an account, resends included, without gaps. Ids are assigned when a row is written, not when it
 * is committed, so a client that continued after the highest id would miss the events of slower transactions. The stream
 * is therefore in the order of transaction ids, and sends the events of a transaction only when all transactions that
 * began earlier have ended. The ids are those of `xid_in_epoch` (server/database/server-epoch.ts): after a dump is restored
 * on another server, its transactions follow all events of the dump, and the positions of clients stay valid.
 */

/** A position in the stream: the transaction and id of the last event that was read. */
export type Position = {
  /** A 64-bit integer as text. */
  transaction: string
  eventId: number
}

/** An event or its resend, which has the same id and another position. */
export type StreamedEvent = {
  position: Position
  id: number
  event: WebhookEvent
  /** JSON, as it is sent. */
  data: string
  createdAt: Date
}

export const MAX_BATCH = 100

/** A position as the id of a server-sent event. */
export const positionText = ({ transaction, eventId }: Position) => `${transaction}-${eventId}`

/** Parses the result of `positionText`; undefined for any other text. */
export function positionIn(text: string): Position | undefined {
  const [, transaction, eventId] = text.match(/^(0|[1-9]\d{0,18})-(0|[1-9]\d{0,14})$/) ?? []
  return transaction && eventId ? { transaction, eventId: Number(eventId) } : undefined
}

/** The end of the stream: every event that is committed from now on follows it. */
export async function currentPosition({ db }: Context): Promise<Position> {
  const [row] = await db<{ transaction: string }[]>`
    select xid_in_epoch(pg_snapshot_xmin(pg_current_snapshot())) as transaction
  `
  return { transaction: row!.transaction, eventId: 0 }
}

/**
 * False for a position that belongs to another database, or to the time that a restore has lost: ahead of the last
 * transaction, or at an event that this database never had.
 */
export async function hasReached(
  { db }: Context,
  { transaction, eventId }: Position,
): Promise<boolean> {
  const [row] = await db<{ reached: boolean }[]>`
    select
      ${transaction}::xid8 <= xid_in_epoch(pg_snapshot_xmax(pg_current_snapshot()))
      and (
        -- 0 is where a stream began without a position. The events before those that are kept are deleted.
        ${eventId}::bigint = 0
        or ${eventId}::bigint < (select kept_from from retention where table_name = 'events')
        or exists (select from events where id = ${eventId}::bigint)
      ) as reached
  `
  return row!.reached
}

/**
 * The transactions before this one have all ended, so all of their events are visible. In a subquery, because a statement
 * evaluates it once.
 */
const firstRunning = (db: Db) => db`(select xid_in_epoch(pg_snapshot_xmin(pg_current_snapshot())))`

/** The next events after a position, resends included. */
export async function eventsAfter(
  { db }: Pick<Context, 'db'>,
  accountId: number,
  { transaction, eventId }: Position,
): Promise<StreamedEvent[]> {
  const after = db`(${transaction}::xid8, ${eventId}::bigint)`
  const before = firstRunning(db)
  const rows = await db<(Omit<StreamedEvent, 'position'> & { transaction: string })[]>`
    select
      next.transaction,
      e.id,
      e.event,
      e.data,
      e.created_at as "createdAt"
    from (
      (
        select written_in as transaction, id as event_id
        from events
        where
          account_id = ${accountId}
          and (written_in, id) > ${after}
          and written_in < ${before}
          and id >= (select kept_from from retention where table_name = 'events')
        order by written_in, id
        limit ${MAX_BATCH}
      )
      -- Removes duplicates: an event that one transaction resends to several endpoints comes once.
      union
      (
        select resent.transaction, resent.event_id
        from webhook_endpoints endpoint
        cross join lateral (
          select resent_in as transaction, event_id
          from deliveries
          where
            endpoint_id = endpoint.id
            and (resent_in, event_id) > ${after}
            and resent_in < ${before}
          order by resent_in, event_id
          limit ${MAX_BATCH}
        ) resent
        where endpoint.account_id = ${accountId} and endpoint.deleted_at is null
      )
      order by transaction, event_id
      limit ${MAX_BATCH}
    ) next
    join events e on e.id = next.event_id
    order by next.transaction, e.id
  `
  return rows.map(({ transaction, ...event }) => ({
    ...event,
    position: { transaction, eventId: event.id },
  }))
}

/** Whether each of these accounts has an event or a resend after its position. */
export async function haveEvents(
  { db }: Pick<Context, 'db'>,
  positions: { accountId: number; position: Position }[],
): Promise<boolean[]> {
  const after = db`(asked.transaction, asked.event_id)`
  const before = firstRunning(db)
  const rows = await db<{ hasEvents: boolean }[]>`
    select
      exists (
        select
        from events
        where
          account_id = asked.account_id
          and (written_in, id) > ${after}
          and written_in < ${before}
          and id >= (select kept_from from retention where table_name = 'events')
      )
      or exists (
        select
        from webhook_endpoints endpoint
        join deliveries on endpoint_id = endpoint.id
        where
          endpoint.account_id = asked.account_id
          and endpoint.deleted_at is null
          and (resent_in, deliveries.event_id) > ${after}
          and resent_in < ${before}
      ) as "hasEvents"
    from
      unnest(
        ${positions.map(({ accountId }) => accountId)}::bigint[],
        ${positions.map(({ position }) => position.transaction)}::text[]::xid8[],
        ${positions.map(({ position }) => position.eventId)}::bigint[]
      ) with ordinality as asked (account_id, transaction, event_id, number)
    order by asked.number
  `
  return rows.map(({ hasEvents }) => hasEvents)
}
