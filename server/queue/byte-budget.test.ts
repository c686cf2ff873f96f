import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { byteBudget } from './byte-budget.ts'

/** Whether the promise is settled after everything that can happen now. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  promise.then(
    () => {
      settled = true
    },
    () => {
      settled = true
    },
  )
  await turn()
  return settled
}

describe('a byte budget', () => {
  it('one of the tasks whose bytes do not fit into a byte budget goes on, and the others wait for an end', async () => {
    const open = byteBudget(10)
    const [first, second, third] = [open(), open(), open()]
    await Promise.all([first.take(4), second.take(6)])
    await second.take(20)
    const waiting = [first.take(1), third.take(1)]
    for (const take of waiting) expect(await isSettled(take)).toBe(false)
    await second.take(20)
    second.close()
    await Promise.all(waiting)
  })

  it('a task that ends while it waits for a byte budget gets an error, and uses nothing', async () => {
    const open = byteBudget(10)
    const [exceeding, second, third] = [open(), open(), open()]
    await exceeding.take(11)
    const ended = second.take(5)
    const waiting = third.take(5)
    second.close()
    await expect(ended).rejects.toThrow('closed')
    await expect(second.take(1)).rejects.toThrow('closed')
    expect(await isSettled(waiting)).toBe(false)
    exceeding.close()
    exceeding.close()
    await waiting
    const fourth = open()
    await fourth.take(5)
    await fourth.take(1)
    expect(await isSettled(third.take(1))).toBe(false)
  })
})
