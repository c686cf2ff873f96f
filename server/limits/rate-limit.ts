import type { Counters } from './counters.ts'

/** Length of the fixed window. Windows begin at whole minutes of Unix time. */
export const WINDOW_SECONDS = 60

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
  /** Counts one request of `subject` and checks it against the limit. */
  count(subject: string, limit: number): RateLimit | Promise<RateLimit>
}

/**
 * Counts requests per fixed window, so that a client can be told exactly how many are left and until when. Returns a
 * promise only if the counters do, because every request passes here.
 *
 * @param now real time in Unix milliseconds: a client that waits until the reset must not depend on the sandbox's clock
 */
export function rateLimiter(counters: Counters, now: () => number): RateLimiter {
  return {
    count(subject, limit) {
      const time = now()
      const window = Math.floor(time / (WINDOW_SECONDS * 1000))
      const hits = counters.hit(subject, window)
      return typeof hits === 'number'
        ? rateLimitAfter(hits, limit, window, time)
        : hits.then((count) => rateLimitAfter(count, limit, window, time))
    },
  }
}

function rateLimitAfter(hits: number, limit: number, window: number, time: number): RateLimit {
  const resetAt = (window + 1) * WINDOW_SECONDS
  return {
    limit,
    remaining: Math.max(0, limit - hits),
    resetAt,
    exceeded: hits > limit,
    // The window always ends after `time`, so rounding up gives at least 1.
    retryAfter: Math.ceil((resetAt * 1000 - time) / 1000),
  }
}
