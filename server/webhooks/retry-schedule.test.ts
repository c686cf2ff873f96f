import { describe, expect, it } from 'vitest'
import { nextTryAt } from './retry-schedule.ts'

const MINUTES = 60
const HOURS = 60 * MINUTES

const FIRST = new Date('2026-03-01T09:30:00.250Z')
const secondsOn = (seconds: number) => new Date(FIRST.getTime() + seconds * 1000)

describe('the next attempt of a delivery', () => {
  it.each([
    ['second', 1, 0, 1 * MINUTES],
    ['third', 2, 1 * MINUTES, 10 * MINUTES],
    ['fourth', 3, 10 * MINUTES, 1 * HOURS],
    ['fifth', 4, 1 * HOURS, 6 * HOURS],
  ])(
    'the delay of the %s attempt counts from the first attempt',
    (_, tries, previous, expected) => {
      expect(nextTryAt(tries, FIRST, secondsOn(previous))).toEqual(secondsOn(expected))
    },
  )

  it.each([
    [2, 9 * MINUTES, 10 * MINUTES],
    [2, 9 * MINUTES + 1, 10 * MINUTES + 1],
    [2, 9.5 * MINUTES, 10.5 * MINUTES],
    [3, 3 * HOURS, 3 * HOURS + 1 * MINUTES],
    [4, 30 * HOURS, 30 * HOURS + 1 * MINUTES],
  ])(
    'attempts are at least a minute apart: after attempt %i at %i s, the next is due at %i s',
    (tries, previous, expected) => {
      expect(nextTryAt(tries, FIRST, secondsOn(previous))).toEqual(secondsOn(expected))
    },
  )

  it('a delivery gets no attempt after the fifth', () => {
    expect(nextTryAt(5, FIRST, secondsOn(6 * HOURS))).toBeUndefined()
  })
})
