import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { memoryCounters } from './counters.ts'

describe('counters in memory', () => {
  it('memory counters count the hits of each subject', () => {
    const counters = memoryCounters()
    expect(['alice', 'alice', 'bob', 'alice'].map((who) => counters.hit(who, 7))).toEqual([
      1, 2, 1, 3,
    ])
  })

  it('memory counters keep a window and the one before it, in which late hits count', () => {
    const counters = memoryCounters()
    counters.hit('alice', 7)
    expect(counters.hit('alice', 8)).toBe(1)
    expect(counters.hit('alice', 7)).toBe(2)
    expect(counters.hit('alice', 8)).toBe(2)
    expect(counters.hit('alice', 9)).toBe(1)
    expect(counters.hit('alice', 8)).toBe(3)
  })

  it('memory counters count an earlier window from its first hit if the clock is set back', () => {
    const counters = memoryCounters()
    counters.hit('alice', 700)
    counters.hit('alice', 701)
    expect([7, 7, 8, 8].map((window) => counters.hit('alice', window))).toEqual([1, 2, 1, 2])
  })

  it('memory counters hold the subjects of two windows only', () => {
    const counters = memoryCounters()
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const used = () => {
      collect()
      return process.memoryUsage().heapUsed
    }
    const before = used()
    for (let window = 0; window < 200; window++) {
      for (let subject = 0; subject < 5000; subject++) counters.hit(`s${window}-${subject}`, window)
    }
    expect(used() - before).toBeLessThan(20_000_000)
    expect(counters.hit('s199-0', 199)).toBe(2)
  })

  it('memory counters are empty after close', async () => {
    const counters = memoryCounters()
    counters.hit('alice', 7)
    await counters.close()
    expect(counters.hit('alice', 7)).toBe(1)
  })
})
