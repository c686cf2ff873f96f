import { beforeEach, describe, expect, it } from 'vitest'
import { batch } from './batch.ts'

type Write = { items: number[] } & PromiseWithResolvers<void>

let writes: Write[]
let add: (item: number) => Promise<void>
beforeEach(() => {
  writes = []
  add = batch<number>(
    (items) => {
      const write = { items, ...Promise.withResolvers<void>() }
      writes.push(write)
      return write.promise
    },
    { max: 3 },
  )
})

const written = () => writes.map(({ items }) => items)

describe('batch', () => {
  it('an item is written at once when no write is under way', async () => {
    const first = add(1)
    expect(written()).toEqual([[1]])
    writes[0]!.resolve()
    await first
    const second = add(2)
    expect(written()).toEqual([[1], [2]])
    writes[1]!.resolve()
    await second
  })

  it('items that arrive during a write are batched in order, up to the maximum', async () => {
    const added = [1, 2, 3, 4, 5, 6].map(add)
    expect(written()).toEqual([[1]])
    writes[0]!.resolve()
    await added[0]
    expect(written()).toEqual([[1], [2, 3, 4]])
    added.push(add(7))
    writes[1]!.resolve()
    await added[3]
    expect(written()).toEqual([[1], [2, 3, 4], [5, 6, 7]])
    writes[2]!.resolve()
    await Promise.all(added)
  })

  it('the promise of a batched item resolves with the write of its own batch', async () => {
    const done: number[] = []
    const added = [1, 2, 3].map((item) => add(item).then(() => done.push(item)))
    writes[0]!.resolve()
    await added[0]
    expect(done).toEqual([1])
    writes[1]!.resolve()
    await Promise.all(added)
    expect(done).toEqual([1, 2, 3])
  })

  it('a failed batch rejects its own items and leaves later batches alone', async () => {
    const settled = Promise.allSettled([1, 2, 3].map(add))
    const sameBatch = add(4)
    writes[0]!.resolve()
    await Promise.resolve()
    const laterBatch = add(5)
    await expect.poll(() => writes.length).toBe(2)
    writes[1]!.reject(new Error('away'))
    const statuses = (await settled).map(({ status }) => status)
    expect(statuses).toEqual(['fulfilled', 'rejected', 'rejected'])
    await expect(sameBatch).rejects.toThrow('away')
    expect(written()).toEqual([[1], [2, 3, 4], [5]])
    writes[2]!.resolve()
    await laterBatch
    const afterwards = add(6)
    writes[3]!.resolve()
    await afterwards
  })

  it('a caller can add a batched item as soon as its previous one is written', async () => {
    const both = add(1).then(() => add(2))
    writes[0]!.resolve()
    await expect.poll(() => writes.length).toBe(2)
    writes[1]!.resolve()
    await both
    expect(written()).toEqual([[1], [2]])
  })
})
