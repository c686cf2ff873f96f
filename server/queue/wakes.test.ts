import { expect, it } from 'vitest'
import { inTransaction } from '../context.ts'
import { startTestApp } from '../test/app.ts'
import { wakesInProcess } from './wakes.ts'

it('a wake reaches whoever listens to the queue, until they no longer do', () => {
  const wakes = wakesInProcess()
  const heard: string[] = []
  wakes.wake('photos')
  const end = wakes.on('photos', () => heard.push('first'))
  wakes.on('photos', () => heard.push('second'))
  wakes.wake('photos')
  end()
  wakes.wakeAll()
  expect(heard).toEqual(['first', 'second', 'second'])
})

it('a wake in a transaction waits for the commit, and goes with what is rolled back', async () => {
  const { ctx } = await startTestApp()
  const heard: string[] = []
  for (const queue of ['photos', 'mail', 'shipments'] as const) {
    ctx.wakes.on(queue, () => heard.push(queue))
  }
  await inTransaction(ctx, async (tx) => {
    tx.wakes.wake('mail')
    tx.wakes.wake('mail')
    const part = inTransaction(tx, async (part) => {
      part.wakes.wake('shipments')
      throw new Error('no')
    })
    await expect(part).rejects.toThrow('no')
    await inTransaction(tx, async (part) => part.wakes.wake('photos'))
    expect(heard).toEqual([])
  })
  expect(heard).toEqual(['mail', 'photos'])

  const failing = inTransaction(ctx, async (tx) => {
    tx.wakes.wake('mail')
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  expect(heard).toEqual(['mail', 'photos'])
})
