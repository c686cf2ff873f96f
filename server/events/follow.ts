import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../context.ts'
import { type Signals, throttle } from '../database/signals.ts'
import { eventsAfter, haveEvents, MAX_BATCH, type Position, type StreamedEvent } from './stream.ts'

const SIGNAL_THROTTLE_MS = 250
/** Polling finds events that an older transaction held back, because the end of a transaction sends no signal. */
const POLL_INTERVAL_MS = 1_000
/** Streams that one process keeps open. */
export const MAX_STREAMS = 1_000

/** An open stream: its last event, and the signal that there may be more, which is replaced before each read. */
type WatchedStream = { accountId: number; position: Position; behind: AbortController }

/** The open streams of this process. */
export type EventWatch = {
  readonly isFull: boolean
  add(accountId: number, position: Position): WatchedStream
  delete(stream: WatchedStream): void
}

/** Looks for events on behalf of all streams of this process, with one statement at a time and none without streams. */
export function watchEvents(ctx: Pick<Context, 'db'> & { signals: Signals }): EventWatch {
  const streams = new Set<WatchedStream>()
  let isPolling = false
  let stop: () => void

  const poll = async () => {
    if (isPolling) return pollSoon()
    const asked = [...streams].filter(({ behind }) => !behind.signal.aborted)
    if (asked.length === 0) return
    isPolling = true
    // After a failure, the next poll asks again.
    const found = await haveEvents(ctx, asked).catch(() => [])
    isPolling = false
    asked.forEach(({ behind }, i) => {
      if (found[i]) behind.abort()
    })
  }
  const pollSoon = throttle(SIGNAL_THROTTLE_MS, () => void poll())

  const start = () => {
    const unsubscribe = ctx.signals.on('deliveries', pollSoon)
    const timer = setInterval(pollSoon, POLL_INTERVAL_MS).unref()
    return () => {
      unsubscribe()
      clearInterval(timer)
    }
  }

  return {
    get isFull() {
      return streams.size >= MAX_STREAMS
    },
    add(accountId, position) {
      if (streams.size === 0) stop = start()
      const stream = { accountId, position, behind: new AbortController() }
      streams.add(stream)
      return stream
    },
    delete(stream) {
      streams.delete(stream)
      if (streams.size === 0) stop()
    },
  }
}

/**
 * Follows the events of an account after a position. It reads a batch only when the consumer asks for it.
 *
 * @param ended ends the stream
 * @param silenceMs real time after which it yields an empty batch, as a heartbeat
 * @returns batches of at most 100 events
 */
export async function* followEvents(
  ctx: Pick<Context, 'db'> & { eventWatch: EventWatch },
  accountId: number,
  after: Position,
  { ended, silenceMs }: { ended: AbortSignal; silenceMs: number },
): AsyncGenerator<StreamedEvent[], void, undefined> {
  const stream = ctx.eventWatch.add(accountId, after)
  let isBehind = true
  let yieldedAt = performance.now()
  try {
    while (!ended.aborted) {
      // Replaced before the query: a commit during the query must lead to another one.
      if (isBehind) stream.behind = new AbortController()
      const events = isBehind ? await eventsAfter(ctx, accountId, stream.position) : []
      stream.position = events.at(-1)?.position ?? stream.position
      if (events.length > 0 || performance.now() - yieldedAt >= silenceMs) {
        yield events
        yieldedAt = performance.now()
      }
      if (events.length === MAX_BATCH) continue
      const signal = AbortSignal.any([ended, stream.behind.signal])
      const silence = yieldedAt + silenceMs - performance.now()
      await sleep(silence, undefined, { signal, ref: false }).catch(() => {})
      isBehind = stream.behind.signal.aborted
    }
  } finally {
    ctx.eventWatch.delete(stream)
  }
}
