import { addressNetworks } from './address.ts'
import { type Counters, WINDOW_SECONDS } from './counters.ts'

/** The state of a subject's limit after one more request. */
export type RateLimit = {
  limit: number
  remaining: number
  /** Unix time in seconds of the window's end. */
  resetAt: number
  exceeded: boolean
  /** Whole seconds until then, at least 1. */
  retryAfter: number
}

export type RateLimiter = {
  /**
   * Counts one request of `subject` and checks it against the limit.
   *
   * @param seconds length of the window
   * @param by -1 takes back a request that shouldn't count. If its window has ended, the next one gives one more
   */
  count(
    subject: string,
    limit: number,
    seconds?: number,
    by?: number,
  ): RateLimit | Promise<RateLimit>
}

/**
 * Counts requests per fixed window, so that a client can be told exactly how many are left and until when. Returns a
 * promise only if the counters do, because every request passes here.
 *
 * @param now real time in Unix milliseconds: a client that waits until the reset must not depend on the sandbox's clock
 */
export function rateLimiter(counters: Counters, now: () => number): RateLimiter {
  return {
    count(subject, limit, seconds = WINDOW_SECONDS, by = 1) {
      const time = now()
      const window = Math.floor(time / (seconds * 1000))
      const resetAt = (window + 1) * seconds
      const hits = counters.hit(subject, window, seconds, by)
      return typeof hits === 'number'
        ? rateLimitAfter(hits, limit, resetAt, time)
        : hits.then((count) => rateLimitAfter(count, limit, resetAt, time))
    },
  }
}

/**
 * Counts a request of a client address for each of its networks, the smallest first. If its limit is exceeded, the larger
 * ones don't count the request, so that a client can't use up the limit of its neighbours.
 *
 * @param kind the start of the subjects
 */
export async function countNetworks(
  limiter: RateLimiter,
  kind: string,
  address: string | undefined,
  { limit, seconds, by = 1 }: { limit: number; seconds: number; by?: number },
): Promise<RateLimit> {
  let counted: RateLimit | undefined
  for (const { subject, factor } of addressNetworks(address)) {
    counted = await limiter.count(`${kind}:${subject}`, limit * factor, seconds, by)
    if (by > 0 && counted.exceeded) break
  }
  return counted!
}

function rateLimitAfter(hits: number, limit: number, resetAt: number, time: number): RateLimit {
  return {
    limit,
    remaining: Math.max(0, limit - hits),
    resetAt,
    exceeded: hits > limit,
    // The window always ends after `time`, so rounding up gives at least 1.
    retryAfter: Math.ceil((resetAt * 1000 - time) / 1000),
  }
}
