import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { compactWhenIdle } from './compact-memory.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

it('memory is compacted once for each snapshot of the catalog, and only after idle seconds', () => {
  let utilization = 1
  vi.spyOn(performance, 'eventLoopUtilization').mockImplementation(() => ({
    idle: 0,
    active: 0,
    utilization,
  }))
  let catalog = {}
  let compactions = 0
  const stop = compactWhenIdle(
    () => catalog,
    () => compactions++,
  )
  const after = (seconds: number) => {
    vi.advanceTimersByTime(seconds * 1000)
    return compactions
  }
  expect(after(10)).toBe(0)
  utilization = 0.01
  expect(after(1)).toBe(0)
  utilization = 1
  expect(after(1)).toBe(0)
  utilization = 0.01
  expect(after(1)).toBe(0)
  expect(after(1)).toBe(1)
  expect(after(10)).toBe(1)
  catalog = {}
  utilization = 1
  expect(after(1)).toBe(1)
  utilization = 0.01
  expect(after(4)).toBe(1)
  expect(after(1)).toBe(2)
  catalog = {}
  stop()
  expect(after(10)).toBe(2)
})

it('a compaction leaves the process working', () => {
  const stop = compactWhenIdle(() => ({}))
  vi.spyOn(performance, 'eventLoopUtilization').mockReturnValue({
    idle: 0,
    active: 0,
    utilization: 0,
  })
  const before = process.memoryUsage().heapTotal
  vi.advanceTimersByTime(5000)
  stop()
  expect(process.memoryUsage().heapTotal).toBeLessThanOrEqual(before)
})
