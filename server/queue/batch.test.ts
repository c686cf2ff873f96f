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
    { most: 3 },
  )
})

const written = () => writes.map(({ items }) => items)

describe('what comes one by one', () => {
  it('is written at once when nothing is under way', async () => {
    const one = add(1)
    expect(written()).toEqual([[1]])
    writes[0]!.resolve()
    await one
    const two = add(2)
    expect(written()).toEqual([[1], [2]])
    writes[1]!.resolve()
    await two
  })

  it('while a write is under way is written together, in order and only so much at once', async () => {
    const all = [1, 2, 3, 4, 5, 6].map(add)
    expect(written()).toEqual([[1]])
    writes[0]!.resolve()
    await all[0]
    expect(written()).toEqual([[1], [2, 3, 4]])
    all.push(add(7))
    writes[1]!.resolve()
    await all[3]
    expect(written()).toEqual([[1], [2, 3, 4], [5, 6, 7]])
    writes[2]!.resolve()
    await Promise.all(all)
  })

  it('is done with its own write and not before', async () => {
    const done: number[] = []
    const all = [1, 2, 3].map((item) => add(item).then(() => done.push(item)))
    writes[0]!.resolve()
    await all[0]
    expect(done).toEqual([1])
    writes[1]!.resolve()
    await Promise.all(all)
    expect(done).toEqual([1, 2, 3])
  })

  it('fails with its write, and what comes after does not', async () => {
    const ends = Promise.allSettled([1, 2, 3].map(add))
    const alone = add(4)
    writes[0]!.resolve()
    await Promise.resolve()
    const later = add(5)
    await expect.poll(() => writes.length).toBe(2)
    writes[1]!.reject(new Error('away'))
    expect((await ends).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
    await expect(alone).rejects.toThrow('away')
    expect(written()).toEqual([[1], [2, 3, 4], [5]])
    writes[2]!.resolve()
    await later
    const last = add(6)
    writes[3]!.resolve()
    await last
  })

  it('can be added by whom a write has just answered', async () => {
    const chain = add(1).then(() => add(2))
    writes[0]!.resolve()
    await expect.poll(() => writes.length).toBe(2)
    writes[1]!.resolve()
    await chain
    expect(written()).toEqual([[1], [2]])
  })
})
