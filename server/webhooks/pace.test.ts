import { beforeEach, describe, expect, it } from 'vitest'
import { FIRST_PLACES, MOST_PLACES, type Pace, startPace } from './pace.ts'

const SHOP = 7
const OTHER = 8

let pace: Pace
beforeEach(() => {
  pace = startPace()
})

/** How many more an endpoint may have now. */
function freeFor(endpointId: number): number {
  const { endpointIds, places } = pace.free()
  const lane = endpointIds.indexOf(endpointId)
  return lane < 0 ? FIRST_PLACES : places[lane]!
}

const begin = (count: number, endpointId = SHOP) => {
  for (let i = 0; i < count; i++) pace.begin(endpointId)
}

describe('the attempts at a time that an endpoint gets', () => {
  it('are two at first, and those that are under way count', () => {
    expect(freeFor(SHOP)).toBe(2)
    begin(1)
    expect(freeFor(SHOP)).toBe(1)
    begin(1)
    expect(freeFor(SHOP)).toBe(0)
  })

  it('are one more after each that was answered well, up to the most', () => {
    begin(2)
    for (let places = 3; places <= MOST_PLACES + 5; places++) {
      pace.end(SHOP, 'answered well')
      begin(1)
      expect(freeFor(SHOP)).toBe(Math.min(places, MOST_PLACES) - 2)
    }
  })

  it('are as at first after a failure, and never less than none', () => {
    begin(2)
    for (let i = 0; i < 8; i++) {
      pace.end(SHOP, 'answered well')
      begin(1)
    }
    begin(8)
    expect(freeFor(SHOP)).toBe(0)
    pace.end(SHOP, 'failed')
    expect(freeFor(SHOP)).toBe(0)
    for (let left = 9; left > 1; left--) pace.end(SHOP, 'not tried')
    expect(freeFor(SHOP)).toBe(1)
  })

  it('stay what they are when an attempt was not made', () => {
    begin(2)
    pace.end(SHOP, 'answered well')
    begin(1)
    pace.end(SHOP, 'not tried')
    expect(freeFor(SHOP)).toBe(2)
  })

  it('are its own', () => {
    begin(2)
    begin(1, OTHER)
    pace.end(OTHER, 'failed')
    expect([freeFor(SHOP), freeFor(OTHER)]).toEqual([0, 2])
  })

  it('are forgotten with the last that is under way', () => {
    begin(2)
    pace.end(SHOP, 'answered well')
    expect(freeFor(SHOP)).toBe(2)
    pace.end(SHOP, 'answered well')
    expect(pace.free()).toEqual({ endpointIds: [], places: [] })
  })
})
