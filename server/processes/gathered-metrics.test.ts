import { expect, it } from 'vitest'
import type { ProcessMetrics } from '../metrics.ts'
import { gatherMetrics } from './gathered-metrics.ts'

it('the counters of a process that has ended are counted once, even if it sends them again', async () => {
  const counted = (value: number) =>
    [
      { name: 'hits', type: 'counter', aggregator: 'sum', values: [{ value, labels: {} }] },
    ] as unknown as ProcessMetrics
  const gathered = gatherMetrics<object>()
  const [ended, asking] = [{}, {}]
  gathered.set(ended, counted(2))
  gathered.end(ended)
  gathered.set(ended, counted(2))
  const all = await gathered.besides(asking)
  const values = all.flatMap((one) => one.flatMap(({ values }) => values))
  expect(values.map(({ value }) => value)).toEqual([2])
})
