import { setTimeout as realTimeout } from 'node:timers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { FIRST_PLACES, MAX_PLACES, type Pace, startPace } from './endpoint-concurrency.ts'

const SHOP = 7
const OTHER = 8

let pace: Pace
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  pace = startPace()
})
afterEach(() => {
  vi.useRealTimers()
})

/** How many of an endpoint's may be claimed now. */
function roomFor(endpointId: number): number {
  const { endpointIds, places } = pace.room()
  const lane = endpointIds.indexOf(endpointId)
  return lane < 0 ? FIRST_PLACES : places[lane]!
}

const DUE = new Date('2026-03-01T09:30:00Z')
let ids = 0

const claim = (count: number, endpointId = SHOP) =>
  pace.claimed(
    Array.from({ length: count }, () => ({ endpointId, dueAt: DUE, id: ++ids })),
    pace.room(),
    false,
  )

/** Claims one and begins to send it. */
async function begin(count = 1, endpointId = SHOP) {
  for (let i = 0; i < count; i++) {
    claim(1, endpointId)
    expect(await settled(pace.turn(endpointId))).toBe(true)
  }
}

/** What a promise came to, `waits` when it hasn't yet. */
async function settled<T>(promise: Promise<T>): Promise<T | 'waits'> {
  const { promise: soon, resolve } = Promise.withResolvers<'waits'>()
  realTimeout(resolve, 1, 'waits')
  return Promise.race([promise, soon])
}

/** Brings an endpoint to all its places. */
async function quicken() {
  for (let i = 0; i < MAX_PLACES; i++) {
    await begin()
    pace.end(SHOP, 'answered well')
  }
}

describe('the attempts at a time that an endpoint gets', () => {
  it('are two at first; who comes third waits until one is over', async () => {
    expect(roomFor(SHOP)).toBe(2)
    await begin(2)
    expect(roomFor(SHOP)).toBe(0)
    claim(1)
    const third = pace.turn(SHOP)
    expect(await settled(third)).toBe('waits')
    pace.end(SHOP, 'not tried')
    expect(await settled(third)).toBe(true)
  })

  it('are one more after each that was answered well, up to the most', async () => {
    for (let places = FIRST_PLACES; places < MAX_PLACES; places++) {
      expect(roomFor(SHOP)).toBe(places)
      await begin()
      pace.end(SHOP, 'answered well')
    }
    await begin(MAX_PLACES)
    claim(1)
    expect(await settled(pace.turn(SHOP))).toBe('waits')
  })

  it('are as at first after a failure, and who waits then is given back', async () => {
    await quicken()
    await begin(MAX_PLACES)
    claim(1)
    const waiting = pace.turn(SHOP)
    pace.end(SHOP, 'failed')
    expect(await settled(waiting)).toBe(false)
    for (let left = MAX_PLACES - 1; left > 1; left--) pace.end(SHOP, 'not tried')
    expect(roomFor(SHOP)).toBe(1)
    pace.end(SHOP, 'not tried')
    expect(roomFor(SHOP)).toBe(2)
  })

  it('are its own', async () => {
    await begin(2)
    await begin(1, OTHER)
    pace.end(OTHER, 'failed')
    expect([roomFor(SHOP), roomFor(OTHER)]).toEqual([0, 2])
  })

  it('are remembered for ten seconds of rest', async () => {
    await begin(2)
    pace.end(SHOP, 'answered well')
    pace.end(SHOP, 'answered well')
    vi.advanceTimersByTime(9_000)
    expect(roomFor(SHOP)).toBe(4)
    vi.advanceTimersByTime(2_000)
    expect(pace.room()).toEqual({ endpointIds: [], places: [], after: [] })
  })
})

describe('what is claimed', () => {
  it('is not worth the asking until half of what there may be is over', async () => {
    await quicken()
    const all = roomFor(SHOP)
    expect(all).toBe(256)
    claim(all)
    for (let i = 0; i < all; i++) void pace.turn(SHOP)
    for (let over = 1; over <= all; over++) {
      pace.end(SHOP, 'answered well')
      expect(roomFor(SHOP)).toBe(over < all / 2 ? 0 : over)
    }
  })

  it('is ahead of its places only where they are all had, and kept up with for a second', async () => {
    await begin(2)
    pace.end(SHOP, 'answered well')
    pace.end(SHOP, 'answered well')
    expect(roomFor(SHOP)).toBe(4)
    await quicken()
    claim(256)
    const turns = Array.from({ length: 256 }, () => pace.turn(SHOP))
    vi.advanceTimersByTime(1_001)
    const told = await Promise.all(turns.map(settled))
    expect(told.filter((isTurn) => isTurn === true)).toHaveLength(MAX_PLACES)
    expect(told.filter((isTurn) => isTurn === false)).toHaveLength(224)
    for (let i = 0; i < MAX_PLACES; i++) pace.end(SHOP, 'not tried')
    expect(roomFor(SHOP)).toBe(MAX_PLACES)
  })

  it('is gone on with where it was while there is more, and from the beginning each second', async () => {
    await quicken()
    claim(roomFor(SHOP))
    const last = { dueAt: DUE, id: ids }
    expect(pace.room().after).toEqual([expect.objectContaining(last)])
    vi.advanceTimersByTime(1_001)
    expect(pace.room().after).toEqual([undefined])
  })

  it('is looked for from the beginning again when a claim has found the end', async () => {
    await quicken()
    claim(roomFor(SHOP))
    for (let i = 0; i < 200; i++) void pace.turn(SHOP)
    for (let i = 0; i < 200; i++) pace.end(SHOP, 'answered well')
    claim(3)
    expect(pace.room().after).toEqual([undefined])
    expect(pace.roomForMore().endpointIds).toEqual([])
  })

  it('calls for more also when it was less, because the claim took all that it may', async () => {
    await begin(1)
    pace.end(SHOP, 'answered well')
    const one = { endpointId: SHOP, dueAt: DUE, id: ++ids }
    pace.claimed([one], pace.room(), true)
    expect(pace.hasRoom()).toBe(true)
  })

  it('and waits for a place can be put back, and is waiting again then', async () => {
    await begin(2)
    claim(1)
    const third = pace.turn(SHOP)
    pace.putBack()
    expect(await settled(third)).toBe(false)
    pace.end(SHOP, 'not tried')
    expect(pace.hasRoom()).toBe(false)
    pace.gaveBack(SHOP)
    expect(pace.hasRoom()).toBe(true)
  })

  it('calls for more as soon as there is room, when it was all there was room for', async () => {
    expect(pace.hasRoom()).toBe(false)
    claim(2)
    expect(pace.hasRoom()).toBe(false)
    for (let i = 0; i < 2; i++) await pace.turn(SHOP)
    pace.end(SHOP, 'failed')
    expect(pace.hasRoom()).toBe(true)
    // One was all that was found, of two: nothing more is waiting.
    pace.end(SHOP, 'failed')
    claim(1)
    await pace.turn(SHOP)
    pace.end(SHOP, 'failed')
    expect(pace.hasRoom()).toBe(false)
  })
})
