import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { memoryCounters } from './counters.ts'

describe('counters in memory', () => {
  it('count the hits of each subject', () => {
    const counters = memoryCounters()
    expect(['alice', 'alice', 'bob', 'alice'].map((who) => counters.hit(who, 7))).toEqual([
      1, 2, 1, 3,
    ])
  })

  it('forget a window when the next begins, and when an earlier one returns', () => {
    const counters = memoryCounters()
    counters.hit('alice', 7)
    expect(counters.hit('alice', 8)).toBe(1)
    expect(counters.hit('alice', 7)).toBe(1)
    expect(counters.hit('alice', 7)).toBe(2)
  })

  it('hold no more than the subjects of one window', () => {
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

  it('start from nothing after they were closed', async () => {
    const counters = memoryCounters()
    counters.hit('alice', 7)
    await counters.close()
    expect(counters.hit('alice', 7)).toBe(1)
  })
})
