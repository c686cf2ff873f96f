import type { Context } from '../context.ts'
import { type Signals, throttle } from '../database/signals.ts'
import type { WebhookEvent } from '../enums.ts'

/**
 * An account's events one after another, for whoever wants to hear all of them. Ids are given when a row is written, not
 * when it's committed: who goes on after the highest one they saw misses what a slower transaction brings. So events
 * come in the order of their transactions, and none of a transaction before all that began earlier have ended.
 */

/** A place in that order: the transaction of the last event that was read, and its id. */
export type Position = {
  /** As text: it can be larger than what a number holds. */
  transaction: string
  eventId: number
}

/** An event, for the first time or because it was sent again. Its id stays the same, its position doesn't. */
export type StreamedEvent = {
  position: Position
  id: number
  event: WebhookEvent
  /** JSON, as it's sent. */
  data: string
  createdAt: Date
}

export const MAX_AT_ONCE = 100

/** A wake looks soon; and by itself it looks every second, as older transactions end without a word. */
const LOOK_AT_MOST_EVERY_MS = 20
const POLL_INTERVAL_MS = 1_000

export const positionText = ({ transaction, eventId }: Position) => `${transaction}-${eventId}`

/** The position in a text, undefined when it can't be one. */
export function positionIn(text: string): Position | undefined {
  const [, transaction, eventId] = text.match(/^(0|[1-9]\d{0,18})-(0|[1-9]\d{0,14})$/) ?? []
  return transaction && eventId ? { transaction, eventId: Number(eventId) } : undefined
}

/** Where those who begin now begin: what is committed from now on comes after it. */
export async function currentPosition({ db }: Context): Promise<Position> {
  const [row] = await db<{ transaction: string }[]>`
    select pg_snapshot_xmin(pg_current_snapshot()) as transaction
  `
  return { transaction: row!.transaction, eventId: 0 }
}

/** Whether the database has come that far: a position of another database may lie ahead of it. */
export async function hasReached({ db }: Context, { transaction }: Position): Promise<boolean> {
  const [row] = await db<{ reached: boolean }[]>`
    select ${transaction}::xid8 <= pg_snapshot_xmax(pg_current_snapshot()) as reached
  `
  return row!.reached
}

/**
 * Follows an account's events after a position until it's ended. What is not taken isn't read.
 *
 * @param silenceMs real time after which silence is worth a word
 * @returns at most 100 events at a time; none when there was nothing for so long
 */
export async function* followEvents(
  ctx: Pick<Context, 'db'> & { signals: Signals },
  accountId: number,
  after: Position,
  { ended, silenceMs }: { ended: AbortSignal; silenceMs: number },
): AsyncGenerator<StreamedEvent[], void, undefined> {
  const bell = startBell(ctx.signals, ended)
  let position = after
  let spokeAt = performance.now()
  try {
    while (!ended.aborted) {
      // Whatever is committed while we look rings for the next look.
      const rung = bell.next()
      const events = await eventsAfter(ctx, accountId, position)
      position = events.at(-1)?.position ?? position
      if (events.length > 0 || performance.now() - spokeAt >= silenceMs) {
        yield events
        spokeAt = performance.now()
      }
      if (events.length < MAX_AT_ONCE) await rung
    }
  } finally {
    bell.stop()
  }
}

/** The next events after a position, those that were sent again among them. */
export async function eventsAfter(
  { db }: Pick<Context, 'db'>,
  accountId: number,
  { transaction, eventId }: Position,
): Promise<StreamedEvent[]> {
  const after = db`(${transaction}::xid8, ${eventId}::bigint)`
  // Older ones have all ended, and what they wrote is there to see.
  const before = db`pg_snapshot_xmin(pg_current_snapshot())`
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
        where account_id = ${accountId} and (written_in, id) > ${after} and written_in < ${before}
        order by written_in, id
        limit ${MAX_AT_ONCE}
      )
      -- Sent again to several endpoints in one transaction, it comes once.
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
          limit ${MAX_AT_ONCE}
        ) resent
        where endpoint.account_id = ${accountId} and endpoint.deleted_at is null
      )
      order by transaction, event_id
      limit ${MAX_AT_ONCE}
    ) next
    join events e on e.id = next.event_id
    order by next.transaction, e.id
  `
  return rows.map(({ transaction, ...event }) => ({
    ...event,
    position: { transaction, eventId: event.id },
  }))
}

/** Rings soon after a wake, from time to time by itself, and at the end. */
function startBell(signals: Signals, ended: AbortSignal) {
  let waiting = Promise.withResolvers<void>()
  const ring = () => waiting.resolve()
  const unsubscribe = signals.on('deliveries', throttle(LOOK_AT_MOST_EVERY_MS, ring))
  const timer = setInterval(ring, POLL_INTERVAL_MS).unref()
  ended.addEventListener('abort', ring)
  return {
    /** Resolves with the next ringing. */
    next() {
      waiting = Promise.withResolvers()
      if (ended.aborted) waiting.resolve()
      return waiting.promise
    },
    stop() {
      unsubscribe()
      clearInterval(timer)
      ended.removeEventListener('abort', ring)
    },
  }
}
