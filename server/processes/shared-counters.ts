import { type Counters, memoryCounters, WINDOW_SECONDS } from '../limits/counters.ts'
import type { Channel } from './channel.ts'

/** A hit: the arguments of `Counters.hit`. */
type Hit = [subject: string, window: number, seconds: number, by: number]

/**
 * A process counts for itself, as without Redis, if the primary process doesn't answer for this long. It is as long as a
 * request waits for the database: a busy primary may be late, and processes that count for themselves admit too many
 * requests.
 */
const TIMEOUT_MS = 10_000

/** The primary process's answer to `count`: the new count of each hit. */
export function countHits(counters: ReturnType<typeof memoryCounters>) {
  return (hits: Hit[]): number[] => hits.map((hit) => counters.hit(...hit))
}

/**
 * Counters in the primary process, for all processes of this service: exact, however the connections of a client are
 * distributed. The hits of one turn of the event loop travel in one message, because a message costs as much as a
 * request.
 */
export function sharedCounters(primary: Channel): Counters {
  const local = memoryCounters()
  let gathered: { hit: Hit; resolve: (count: number) => void }[] = []

  const flush = async () => {
    const batch = gathered
    gathered = []
    const hits = batch.map(({ hit }) => hit)
    const counts = await primary.ask<number[]>('count', hits, TIMEOUT_MS)
    batch.forEach(({ hit, resolve }, i) => {
      resolve(counts ? counts[i]! : local.hit(...hit))
    })
  }

  return {
    hit(subject, window, seconds = WINDOW_SECONDS, by = 1) {
      if (gathered.length === 0) setImmediate(flush)
      const hit: Hit = [subject, window, seconds, by]
      return new Promise((resolve) => gathered.push({ hit, resolve }))
    },
    close: local.close,
  }
}
