import { setTimeout as realTimeout } from 'node:timers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  endpointLimiter,
  INITIAL_CONCURRENCY,
  type Limiter,
  MAX_CONCURRENCY,
} from './endpoint-concurrency.ts'

const SHOP = 7
const OTHER = 8
const SLOTS = 1_000

let limiter: Limiter
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  limiter = endpointLimiter(SLOTS)
})
afterEach(() => {
  vi.useRealTimers()
})

/** The number of deliveries of an endpoint that may be claimed. */
function capacityFor(endpointId: number): number {
  const { endpointIds, limits } = limiter.capacity()
  const index = endpointIds.indexOf(endpointId)
  return index < 0 ? INITIAL_CONCURRENCY : limits[index]!
}

const DUE = new Date('2026-03-01T09:30:00Z')
let ids = 0

/** Each endpoint belongs to an account of its own unless a test names one. */
const claim = (count: number, endpointId = SHOP, accountId = endpointId) =>
  limiter.recordClaim(
    Array.from({ length: count }, () => ({ endpointId, accountId, dueAt: DUE, id: ++ids })),
    limiter.capacity(),
    false,
  )

/** Claims deliveries one by one and begins to attempt them. */
async function begin(count = 1, endpointId = SHOP, accountId = endpointId) {
  for (let i = 0; i < count; i++) {
    claim(1, endpointId, accountId)
    expect(await settled(limiter.acquire(endpointId))).toBe(true)
  }
}

/** The value that a promise resolved to, or `waits` while it is pending. */
async function settled<T>(promise: Promise<T>): Promise<T | 'waits'> {
  const { promise: soon, resolve } = Promise.withResolvers<'waits'>()
  realTimeout(resolve, 1, 'waits')
  return Promise.race([promise, soon])
}

/** Raises an endpoint to its maximum concurrency. */
async function warmUp() {
  for (let i = 0; i < MAX_CONCURRENCY; i++) {
    await begin()
    limiter.release(SHOP, 'delivered')
  }
}

describe('the concurrency of an endpoint', () => {
  it('a new endpoint gets two concurrent attempts, and the third delivery waits for one to end', async () => {
    expect(capacityFor(SHOP)).toBe(2)
    await begin(2)
    expect(capacityFor(SHOP)).toBe(0)
    claim(1)
    const third = limiter.acquire(SHOP)
    expect(await settled(third)).toBe('waits')
    limiter.release(SHOP, 'not attempted')
    expect(await settled(third)).toBe(true)
  })

  it('an endpoint gets one more concurrent attempt with each success, up to the maximum', async () => {
    for (let limit = INITIAL_CONCURRENCY; limit < MAX_CONCURRENCY; limit++) {
      expect(capacityFor(SHOP)).toBe(limit)
      await begin()
      limiter.release(SHOP, 'delivered')
    }
    await begin(MAX_CONCURRENCY)
    claim(1)
    expect(await settled(limiter.acquire(SHOP))).toBe('waits')
  })

  it('a failure resets the concurrency of an endpoint and returns its waiting deliveries', async () => {
    await warmUp()
    await begin(MAX_CONCURRENCY)
    claim(1)
    const waiting = limiter.acquire(SHOP)
    limiter.release(SHOP, 'failed')
    expect(await settled(waiting)).toBe(false)
    for (let left = MAX_CONCURRENCY - 1; left > 1; left--) limiter.release(SHOP, 'not attempted')
    expect(capacityFor(SHOP)).toBe(1)
    limiter.release(SHOP, 'not attempted')
    expect(capacityFor(SHOP)).toBe(2)
  })

  it('endpoints have independent concurrency', async () => {
    await begin(2)
    await begin(1, OTHER)
    limiter.release(OTHER, 'failed')
    expect([capacityFor(SHOP), capacityFor(OTHER)]).toEqual([0, 2])
  })

  it('the concurrency of an idle endpoint is kept for ten seconds', async () => {
    await begin(2)
    limiter.release(SHOP, 'delivered')
    limiter.release(SHOP, 'delivered')
    vi.advanceTimersByTime(9_000)
    expect(capacityFor(SHOP)).toBe(4)
    vi.advanceTimersByTime(2_000)
    expect(limiter.capacity()).toEqual({ endpointIds: [], limits: [], cursors: [] })
  })
})

describe('the share of a seller', () => {
  it.each([
    [1, 500],
    [2, 250],
    [5, 31],
  ])(
    'while the 16 fast receivers of each of %i busy sellers do not respond, %i slots stay free for others',
    (sellers, leastFree) => {
      const endpoints = Array.from({ length: sellers * 16 }, (_, i) => ({
        endpointId: 100 + i,
        accountId: Math.floor(i / 16),
      }))
      for (const { endpointId, accountId } of endpoints) {
        for (let i = 0; i < MAX_CONCURRENCY; i++) {
          claim(1, endpointId, accountId)
          void limiter.acquire(endpointId)
          limiter.release(endpointId, 'delivered')
        }
      }
      // The limits of a claim are those of its start.
      let free = SLOTS
      for (let before = 0; before !== free; ) {
        before = free
        let left = Math.ceil(free / 2)
        const limits = endpoints.map(({ endpointId }) => capacityFor(endpointId))
        for (const [i, { endpointId, accountId }] of endpoints.entries()) {
          const count = Math.min(limits[i]!, left)
          claim(count, endpointId, accountId)
          left -= count
          free -= count
        }
      }
      expect(free).toBeGreaterThanOrEqual(leastFree)
      expect(limiter.hasBacklogCapacity()).toBe(false)
      expect(capacityFor(OTHER)).toBe(INITIAL_CONCURRENCY)
    },
  )

  it('a fast endpoint gets deliveries while others of its seller hold fewer than are free', async () => {
    await warmUp()
    claim(400, OTHER, SHOP)
    expect(capacityFor(SHOP)).toBe(SLOTS - 400 - 400)
  })

  it('a seller who holds more deliveries than are free gets no further ones, and one who holds none gets two', () => {
    claim(SLOTS / 2, SHOP, 1)
    claim(1, OTHER, 1)
    expect(capacityFor(OTHER)).toBe(0)
    claim(SLOTS / 2 - 2, 9, 2)
    claim(1, 10, 3)
    limiter.skip(10)
    expect(capacityFor(10)).toBe(INITIAL_CONCURRENCY)
  })
})

describe('claims', () => {
  it('a fast endpoint has no capacity until half of its quota has finished', async () => {
    await warmUp()
    const quota = capacityFor(SHOP)
    expect(quota).toBe(256)
    claim(quota)
    for (let i = 0; i < quota; i++) void limiter.acquire(SHOP)
    for (let finished = 1; finished <= quota; finished++) {
      limiter.release(SHOP, 'delivered')
      expect(capacityFor(SHOP)).toBe(finished < quota / 2 ? 0 : finished)
    }
  })

  it('deliveries are prefetched only at maximum concurrency and returned after a second of waiting', async () => {
    await begin(2)
    limiter.release(SHOP, 'delivered')
    limiter.release(SHOP, 'delivered')
    expect(capacityFor(SHOP)).toBe(4)
    await warmUp()
    claim(256)
    const waiting = Array.from({ length: 256 }, () => limiter.acquire(SHOP))
    vi.advanceTimersByTime(1_001)
    const permitted = await Promise.all(waiting.map(settled))
    expect(permitted.filter((is) => is === true)).toHaveLength(MAX_CONCURRENCY)
    expect(permitted.filter((is) => is === false)).toHaveLength(224)
    for (let i = 0; i < MAX_CONCURRENCY; i++) limiter.release(SHOP, 'not attempted')
    expect(capacityFor(SHOP)).toBe(MAX_CONCURRENCY)
  })

  it('a claim continues where the previous claim ended, and starts from the beginning every second', async () => {
    await warmUp()
    claim(capacityFor(SHOP))
    const last = { dueAt: DUE, id: ids }
    expect(limiter.capacity().cursors).toEqual([expect.objectContaining(last)])
    vi.advanceTimersByTime(1_001)
    expect(limiter.capacity().cursors).toEqual([undefined])
  })

  it('after a claim that reached the end of a queue, the next claim starts at its beginning', async () => {
    await warmUp()
    claim(capacityFor(SHOP))
    for (let i = 0; i < 200; i++) void limiter.acquire(SHOP)
    for (let i = 0; i < 200; i++) limiter.release(SHOP, 'delivered')
    claim(3)
    expect(limiter.capacity().cursors).toEqual([undefined])
    expect(limiter.backlogCapacity().endpointIds).toEqual([])
  })

  it('an endpoint is backlogged when a full claim took fewer of its deliveries than its capacity', async () => {
    await begin(1)
    limiter.release(SHOP, 'delivered')
    const delivery = { endpointId: SHOP, accountId: SHOP, dueAt: DUE, id: ++ids }
    limiter.recordClaim([delivery], limiter.capacity(), true)
    expect(limiter.hasBacklogCapacity()).toBe(true)
  })

  it('an endpoint is backlogged when a waiting delivery was returned to the queue', async () => {
    await begin(2)
    claim(1)
    const third = limiter.acquire(SHOP)
    limiter.returnAll()
    expect(await settled(third)).toBe(false)
    limiter.release(SHOP, 'not attempted')
    expect(limiter.hasBacklogCapacity()).toBe(false)
    limiter.returned(SHOP)
    expect(limiter.hasBacklogCapacity()).toBe(true)
  })

  it('an endpoint is backlogged while claims fill its capacity', async () => {
    expect(limiter.hasBacklogCapacity()).toBe(false)
    claim(2)
    expect(limiter.hasBacklogCapacity()).toBe(false)
    for (let i = 0; i < 2; i++) await limiter.acquire(SHOP)
    limiter.release(SHOP, 'failed')
    expect(limiter.hasBacklogCapacity()).toBe(true)
    // The claim finds one delivery for a capacity of two, so no other is pending.
    limiter.release(SHOP, 'failed')
    claim(1)
    await limiter.acquire(SHOP)
    limiter.release(SHOP, 'failed')
    expect(limiter.hasBacklogCapacity()).toBe(false)
  })
})
