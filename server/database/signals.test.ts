import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { startTestApp } from '../test/app.ts'
import { testDatabase } from '../test/database.ts'
import { until } from '../test/until.ts'
import { inTransaction } from './in-transaction.ts'
import { localSignals, openSignals, type Topic } from './signals.ts'

it('a signal reaches the subscribers of its topic until they unsubscribe', async () => {
  const { signal, on } = localSignals()
  const heard: string[] = []
  await signal('photos')
  const unsubscribe = on('photos', () => heard.push('first'))
  on('photos', () => heard.push('second'))
  on('mail', () => heard.push('mail'))
  await signal('photos')
  unsubscribe()
  await signal('photos')
  expect(heard).toEqual(['first', 'second', 'second'])
})

it('a signal in a transaction is sent once after the commit, and never after a rollback', async () => {
  const { ctx } = await startTestApp()
  const heard: string[] = []
  for (const topic of ['photos', 'mail', 'shipments'] as const) {
    ctx.signals.on(topic, () => heard.push(topic))
  }
  await inTransaction(ctx, async (tx) => {
    await tx.signal('mail')
    await tx.signal('mail')
    const savepoint = inTransaction(tx, async (part) => {
      await part.signal('shipments')
      throw new Error('no')
    })
    await expect(savepoint).rejects.toThrow('no')
    await inTransaction(tx, (part) => part.signal('photos'))
    expect(heard).toEqual([])
  })
  expect(heard).toEqual(['mail', 'photos'])

  const failing = inTransaction(ctx, async (tx) => {
    await tx.signal('mail')
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  expect(heard).toEqual(['mail', 'photos'])
})

it.each<[Topic, { reaches: boolean }]>([
  ['catalog', { reaches: true }],
  ['keys', { reaches: true }],
  ['deliveries', { reaches: true }],
  ['endpoints', { reaches: true }],
  ['photos', { reaches: false }],
  ['mail', { reaches: false }],
  ['time', { reaches: false }],
])('a committed signal on %s reaches other processes: %o', async (topic, { reaches }) => {
  const { ctx, databaseUrl } = await startTestApp()
  const other = (await startTestApp({ databaseUrl })).ctx
  const heard: string[] = []
  other.signals.on(topic, () => heard.push(topic))
  other.signals.on('new-keys', () => heard.push('the last'))
  const rolledBack = inTransaction(ctx, async (tx) => {
    await tx.signal(topic)
    throw new Error('no')
  })
  await expect(rolledBack).rejects.toThrow('no')
  await inTransaction(ctx, (tx) => tx.signal(topic))
  if (reaches) await until('the signal arrives', () => heard.length > 0)
  await ctx.signal('new-keys')
  await until('the last signal arrives', () => heard.includes('the last'))
  expect(heard).toEqual(reaches ? [topic, 'the last'] : ['the last'])
})

it('notices that do not arrive are an error in the log, once, and those that arrive are none', async () => {
  const [{ url }, { db: elsewhere }, { db }] = [
    await testDatabase(),
    await testDatabase(),
    await testDatabase(),
  ]
  const logTo = (logged: string[]) =>
    ({ error: (_: object, message: string) => logged.push(message), warn() {} }) as never
  const [row] = await db`select current_database() as name`
  const own = new URL(url)
  own.pathname = `/${row!.name}`
  const ofArriving: string[] = []
  const arriving = await openSignals(own.href, db, logTo(ofArriving), { noticeTimeoutMs: 2_000 })
  // As with a pooler: the notices are sent on another session than the one that listens.
  const ofLost: string[] = []
  const lost = await openSignals(url, elsewhere, logTo(ofLost), { noticeTimeoutMs: 2_100 })
  await until('the error is logged', () => ofLost.length > 0)
  expect(ofLost).toEqual([expect.stringMatching(/^notifications of the database do not arrive/)])
  expect(ofArriving).toEqual([])
  await Promise.all([arriving.close(), lost.close()])
})

it('a notice that a busy database takes late, or not at all, is not an error in the log', async () => {
  const { url } = await testDatabase()
  const logged: string[] = []
  const log = { error: (_: object, message: string) => logged.push(message), warn() {} } as never
  let hasFailed = false
  const busy = async () => {
    await sleep(300)
    hasFailed = true
    throw new Error('No connection was free in time.')
  }
  const signals = await openSignals(url, busy as never, log, { noticeTimeoutMs: 100 })
  await until('the notice fails', () => hasFailed)
  expect(logged).toEqual([])
  await signals.close()
})
