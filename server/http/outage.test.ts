import { beforeAll, describe, expect, it } from 'vitest'
import { type Answer, startTestApp, type TestApp } from '../test/app.ts'
import { testDatabase } from '../test/database.ts'
import { type DatabaseProxy, databaseProxy } from '../test/database-proxy.ts'
import { until } from '../test/until.ts'

let app: TestApp
let proxy: DatabaseProxy
let seller: Awaited<ReturnType<TestApp['seller']>>
beforeAll(async () => {
  const { url } = await testDatabase('product')
  proxy = await databaseProxy(url)
  app = await startTestApp({ databaseUrl: proxy.url })
  seller = await app.seller()
  expect((await seller.get('/v1/me')).status).toBe(200)
})

const expectUnavailable = (answer: Answer) => {
  expect(answer.status).toBe(503)
  expect(answer.body.error.type).toBe('service_unavailable')
  expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1)
}

const create = () =>
  seller.post('/v1/listings', {
    payload: {
      items: [{ product: 'tin', language: 'EN', price: 1, quantity: 1 }],
    },
  })

describe('while the database refuses connections', () => {
  beforeAll(async () => {
    await proxy.refuse()
    await until('notices are lost', () => !app.ctx.signals.connected)
    return () => proxy.restore()
  })

  it('reads and writes that need it answer 503 with Retry-After', async () => {
    expectUnavailable(await seller.get('/v1/listings'))
    expectUnavailable(await create())
    expectUnavailable(await app.operator.get('/operator/v1/accounts'))
    expectUnavailable(await app.withKey(`svc_live_${'x'.repeat(40)}`).get('/v1/me'))
    expectUnavailable(await app.anyone.get('/health/ready'))
  })

  it('catalog reads with a key that is known go on', async () => {
    expect((await seller.get('/v1/products/tin')).status).toBe(200)
    expect((await seller.get('/v1/products?q=tin')).status).toBe(200)
  })

  it('the log tells of it once in a while, not once a request', async () => {
    for (let i = 0; i < 20; i++) await seller.get('/v1/listings')
    const warnings = app.logged.filter(({ message }) => message === 'the database is unavailable')
    expect(warnings.length).toBeLessThan(5)
    expect(app.logged.filter(({ level }) => level === 'error')).toEqual([])
  })
})

it('an outage leaves nothing behind: everything works within a second of its end', async () => {
  await proxy.refuse()
  for (let i = 0; i < 50; i++) await seller.get('/v1/listings')
  await proxy.restore()
  await until('reads work', async () => (await seller.get('/v1/listings')).status === 200, 1_000)
  await until('writes work', async () => (await create()).status === 200, 1_000)
  await until('it is ready', async () => (await app.anyone.get('/health/ready')).status === 200)
  await until('notices are back', () => app.ctx.signals.connected)
})

it('a database connection that is reset is never blamed on the client', async () => {
  const answers: Answer[] = []
  const requests = Array.from({ length: 40 }, async (_, i) => {
    answers.push(await (i % 2 ? create() : seller.get('/v1/listings')))
  })
  const isDone = Promise.all(requests).then(() => true)
  while (!(await Promise.race([isDone, new Promise((resolve) => setImmediate(resolve))]))) {
    proxy.reset()
  }
  for (const answer of answers) if (answer.status !== 200) expectUnavailable(answer)
  expect(answers.some(({ status }) => status === 503)).toBe(true)
  await until('reads work', async () => (await seller.get('/v1/listings')).status === 200)
})

it('while the database is frozen readiness says so within 2 s, and catalog reads go on', async () => {
  await until('notices are back', () => app.ctx.signals.connected)
  // Since the notices were lost nothing is remembered.
  expect((await seller.get('/v1/me')).status).toBe(200)
  proxy.freeze()
  try {
    const began = performance.now()
    const checks = await Promise.all(
      Array.from({ length: 20 }, () => app.anyone.get('/health/ready')),
    )
    for (const check of checks) expectUnavailable(check)
    expect(performance.now() - began).toBeLessThan(9_000)
    expect((await seller.get('/v1/products/tin')).status).toBe(200)
  } finally {
    await proxy.restore()
  }
  await until('reads work', async () => (await seller.get('/v1/listings')).status === 200)
})
