import { createHook } from 'node:async_hooks'
import { expect, it } from 'vitest'
import { isPassword } from './password.ts'

const base64 = (bytes: number) => Buffer.alloc(bytes).toString('base64')
/** A stored password whose derivation takes no time. */
const CHEAP = `scrypt$2$8$1$${base64(16)}$${base64(32)}`

it('two passwords are derived at a time while 38 wait, and further ones get 503', async () => {
  const running = new Set<number>()
  let most = 0
  const hook = createHook({
    init(id, type) {
      if (type === 'SCRYPTREQUEST') most = Math.max(most, running.add(id).size)
    },
    // The derivation has ended.
    before: (id) => void running.delete(id),
  }).enable()
  const outcomes = await Promise.allSettled(
    Array.from({ length: 42 }, () => isPassword('x', CHEAP)),
  )
  hook.disable()
  expect(most).toBe(2)
  expect(outcomes.slice(0, 40)).toEqual(Array(40).fill({ status: 'fulfilled', value: false }))
  for (const refused of outcomes.slice(40)) {
    expect(refused).toMatchObject({
      status: 'rejected',
      reason: { status: 503, headers: { 'retry-after': expect.any(String) } },
    })
  }
  expect(await isPassword('x', CHEAP)).toBe(false)
})
