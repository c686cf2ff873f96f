import { describe, expect, it } from 'vitest'
import { type Counters, memoryCounters } from './counters.ts'
import { countNetworks, type RateLimit, rateLimiter } from './rate-limit.ts'

const NOON = Date.UTC(2026, 7, 1, 12)

/** A limiter in memory with a clock that the test sets. Its verdicts are there at once, which is a rule of its own. */
function limiterAt(time: number) {
  const clock = { time }
  const limiter = rateLimiter(memoryCounters(), () => clock.time)
  return {
    clock,
    count(subject: string, limit: number): RateLimit {
      const verdict = limiter.count(subject, limit)
      if (verdict instanceof Promise) throw new Error('a promise, where memory has the answer')
      return verdict
    },
  }
}

describe('the rate limit', () => {
  it('the remaining requests count down to zero and never below', () => {
    const { count } = limiterAt(NOON)
    expect([1, 2, 3, 4, 5].map(() => count('alice', 3).remaining)).toEqual([2, 1, 0, 0, 0])
  })

  it('the first request beyond the limit exceeds it', () => {
    const { count } = limiterAt(NOON)
    expect([1, 2, 3, 4].map(() => count('alice', 3).exceeded)).toEqual([false, false, false, true])
  })

  it('a rate limit has its limit, remaining requests, reset and retry time', () => {
    const { count } = limiterAt(NOON)
    expect(count('alice', 600)).toEqual({
      limit: 600,
      remaining: 599,
      resetAt: NOON / 1000 + 60,
      exceeded: false,
      retryAfter: 60,
    })
  })

  it('each subject has its own count', () => {
    const { count } = limiterAt(NOON)
    count('alice', 1)
    expect(count('alice', 1).exceeded).toBe(true)
    expect(count('bob', 1).exceeded).toBe(false)
  })

  it('an exceeded limit lasts until exactly the end of its minute', () => {
    const { clock, count } = limiterAt(NOON)
    count('alice', 1)
    clock.time = NOON + 59_999
    expect(count('alice', 1).exceeded).toBe(true)
    clock.time = NOON + 60_000
    expect(count('alice', 1).exceeded).toBe(false)
  })

  it('every request of a window has the same reset time', () => {
    const { clock, count } = limiterAt(NOON)
    for (const after of [0, 1, 30_000, 59_999]) {
      clock.time = NOON + after
      expect(count('alice', 5).resetAt).toBe(NOON / 1000 + 60)
    }
    clock.time = NOON + 60_000
    expect(count('alice', 5).resetAt).toBe(NOON / 1000 + 120)
  })

  it('the retry time is in whole seconds until the reset, and at least one', () => {
    const { clock, count } = limiterAt(NOON)
    const waits = [0, 1, 1000, 58_000, 58_999, 59_000, 59_500, 59_999].map((after) => {
      clock.time = NOON + after
      return count('alice', 1).retryAfter
    })
    expect(waits).toEqual([60, 60, 59, 2, 2, 1, 1, 1])
  })

  it('a clock that jumps ahead starts a new window', () => {
    const { clock, count } = limiterAt(NOON)
    count('alice', 1)
    clock.time += 7 * 24 * 3600 * 1000
    expect(count('alice', 1)).toMatchObject({ exceeded: false, remaining: 0 })
    expect(count('alice', 1).exceeded).toBe(true)
  })

  it('a clock that is set back starts another window', () => {
    const { clock, count } = limiterAt(NOON)
    count('alice', 1)
    clock.time -= 3600 * 1000
    expect(count('alice', 1)).toMatchObject({ exceeded: false, resetAt: NOON / 1000 - 3540 })
    expect(count('alice', 1).exceeded).toBe(true)
  })

  it('a delayed count applies to the window of its request', async () => {
    const asked: [string, number][] = []
    const answer = Promise.withResolvers<number>()
    const counters: Counters = {
      hit(subject, window) {
        asked.push([subject, window])
        return answer.promise
      },
      async close() {},
    }
    let time = NOON + 59_000
    const verdict = rateLimiter(counters, () => time).count('alice', 5)
    time = NOON + 61_000
    answer.resolve(6)
    expect(await verdict).toEqual({
      limit: 5,
      remaining: 0,
      resetAt: NOON / 1000 + 60,
      exceeded: true,
      retryAfter: 1,
    })
    expect(asked).toEqual([['alice', NOON / 60_000]])
  })

  it('an IPv6 /48 has sixteen times the limit of a client address, and one /64 counts up to its own limit', async () => {
    const limiter = rateLimiter(memoryCounters(), () => NOON)
    const isAdmitted = async (address: string) =>
      !(await countNetworks(limiter, 'test', address, { limit: 5, seconds: 60 })).exceeded
    const admitted = async (network: string, requests: number) => {
      let count = 0
      for (let i = 0; i < requests; i++) if (await isAdmitted(`${network}::${i}`)) count++
      return count
    }
    expect(await admitted('2001:db8:1:0', 1_000)).toBe(5)
    for (let subnet = 1; subnet < 16; subnet++) {
      expect(await admitted(`2001:db8:1:${subnet}00`, 100)).toBe(5)
    }
    expect(await isAdmitted('2001:db8:1:f00f::1')).toBe(false)
    expect(await isAdmitted('2001:db8:2:f00f::1')).toBe(true)
    expect(await isAdmitted('203.0.113.7')).toBe(true)
  })

  it('a request that is taken back gives each network one more', async () => {
    const limiter = rateLimiter(memoryCounters(), () => NOON)
    const count = async (by: number) =>
      countNetworks(limiter, 'test', '2001:db8::1', { limit: 1, seconds: 60, by })
    for (let i = 0; i < 100; i++) {
      expect((await count(1)).exceeded).toBe(false)
      await count(-1)
    }
  })
})
