import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { SCOPES } from '../keys/scopes.ts'
import { startSchedule } from '../schedule.ts'
import {
  type Seller,
  type SignedInClient,
  startTestApp,
  type TestApp,
  type TestResponse,
} from '../test/app.ts'
import { testDatabase } from '../test/database.ts'
import { type DatabaseProxy, databaseProxy } from '../test/database-proxy.ts'
import { emptyDatabase, makeStandby, postmasterOf, query, start } from '../test/embedded-homes.ts'
import { insertListing } from '../test/fixtures/listings.ts'
import { send } from '../test/fixtures/mcp.ts'
import { form } from '../test/fixtures/members.ts'
import { grantAccess } from '../test/fixtures/oauth.ts'
import { sendCart } from '../test/fixtures/orders.ts'
import { endLockWaiters, whileLocked } from '../test/lock-waiters.ts'
import { until } from '../test/until.ts'

let app: TestApp
/** The database without the proxy. */
let direct: Awaited<ReturnType<typeof testDatabase>>
let proxy: DatabaseProxy
let seller: Seller
let member: SignedInClient
beforeAll(async () => {
  direct = await testDatabase('product')
  proxy = await databaseProxy(direct.url)
  app = await startTestApp({ databaseUrl: proxy.url })
  seller = await app.seller()
  member = await app.member()
  expect((await seller.get('/v1/me')).status).toBe(200)
})

const expectUnavailable = (response: TestResponse) => {
  expect(response.status).toBe(503)
  expect(response.body.error.type).toBe('service_unavailable')
  expect(Number(response.headers['retry-after'])).toBeGreaterThanOrEqual(1)
}

const create = (headers = {}) =>
  seller.post('/v1/listings', {
    payload: {
      items: [{ product: 'tin', language: 'EN', price: 1, quantity: 1 }],
    },
    headers,
  })

/** Waits in steps of 10 ms: a pause of a busy machine counts as one step. */
async function withinASecond(works: () => Promise<boolean>): Promise<void> {
  for (let step = 0; step < 100; step++) {
    if (await works()) return
    await sleep(10)
  }
  throw new Error('It does not work within a second.')
}

describe('database outage', () => {
  beforeAll(async () => {
    await proxy.refuse()
    await until('the signal connection is lost', () => !app.ctx.signals.connected)
    return () => proxy.restore()
  })

  it('requests that need the database return 503 with Retry-After during an outage', async () => {
    expectUnavailable(await seller.get('/v1/listings'))
    expectUnavailable(await create())
    expectUnavailable(await app.operator.get('/operator/v1/accounts'))
    expectUnavailable(await app.withKey(`svc_live_${'x'.repeat(40)}`).get('/v1/me'))
    expectUnavailable(await app.anyone.get('/health/ready'))
  })

  it('the message of a 503 says that a write may have been made, unless it can be repeated as it is', async () => {
    const messageOf = ({ body }: TestResponse) => body.error.message
    const change = { payload: { quantity: 3 }, headers: { 'idempotency-key': 'stock' } }
    for (const write of [
      await create(),
      // The operation takes no Idempotency-Key.
      await seller.patch('/v1/listings/7', change),
      await app.operator.post('/operator/v1/orders/7/receive'),
    ]) {
      expect(messageOf(write)).toContain('may or may not have been made')
    }
    expect(messageOf(await create({ 'idempotency-key': 'tins' }))).toContain(
      'with the same Idempotency-Key',
    )
    for (const repeatable of [
      await seller.get('/v1/listings'),
      await seller.delete('/v1/listings/7'),
      await seller.post('/v1/orders/7/label'),
    ]) {
      expect(messageOf(repeatable)).toBe('The database is unavailable. Try again shortly.')
    }
  })

  it('catalog requests with a known key succeed during a database outage', async () => {
    expect((await seller.get('/v1/products/tin')).status).toBe(200)
    expect((await seller.get('/v1/products?q=tin')).status).toBe(200)
  })

  it('a public page that needs the database is a page with 503 for a browser, and JSON for a program', async () => {
    const open = (accept: string) => app.anyone.get('/shops/kanto', { headers: { accept } })
    const page = await open('text/html,application/xhtml+xml,*/*;q=0.8')
    expect(page.status).toBe(503)
    expect(page.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'retry-after': expect.stringMatching(/^\d+$/),
    })
    expect(page.text).toContain('<h1>This page can’t be shown at the moment</h1>')
    expectUnavailable(await open('*/*'))
  })

  it('a sign-in that meets a database outage keeps the address and the page that it leads to', async () => {
    const next = '/dashboard/orders?q=Misty'
    const fields = { email: 'misty@shops.example', password: 'starmie', next }
    const refused = await app.anyone.post('/signin', form(fields))
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, expect.anything()])
    expect(refused.text).toContain(`name="next" value="${next}"`)
    expect(refused.text).toContain(`value="${fields.email}"`)
    const begun = await member.get(`/signin?next=${encodeURIComponent(next)}`)
    expect(begun.status).toBe(503)
    expect(begun.text).toContain(`/signin?next=${encodeURIComponent(next)}"`)
  })

  it.each(['/password/reset', '/invitation'])(
    'a new password whose form %s meets a database outage can be sent again from the same form',
    async (path) => {
      const fields = { token: 'x'.repeat(43), email: 'misty@shops.example' }
      const refused = await app.anyone.post(path, form({ ...fields, password: 'starmie starmie' }))
      expect([refused.status, refused.headers['retry-after']]).toEqual([503, expect.anything()])
      for (const [name, value] of Object.entries(fields)) {
        expect(refused.text).toContain(`name="${name}" value="${value}"`)
      }
    },
  )

  it('a database outage is logged occasionally, not once per request', async () => {
    for (let i = 0; i < 20; i++) await seller.get('/v1/listings')
    const warnings = app.logged.filter(({ message }) => message === 'the database is unavailable')
    expect(warnings.length).toBeLessThan(5)
    expect(app.logged.filter(({ level }) => level === 'error')).toEqual([])
  })

  it('a database outage that recurring jobs meet is logged once as a warning', async () => {
    const stop = startSchedule(app.ctx)
    const ofJobs = () => app.logged.filter(({ job }) => job)
    await until('a job has met the outage', () => ofJobs().length > 0)
    stop()
    expect(ofJobs()).toEqual([
      expect.objectContaining({ level: 'warn', message: 'the database is unavailable' }),
    ])
  })
})

it('after a database outage everything works within a second', async () => {
  await proxy.refuse()
  for (let i = 0; i < 50; i++) await seller.get('/v1/listings')
  await proxy.restore()
  await withinASecond(async () => (await seller.get('/v1/listings')).status === 200)
  await withinASecond(async () => (await create()).status === 200)
  await until(
    'the service is ready',
    async () => (await app.anyone.get('/health/ready')).status === 200,
  )
  await until('the signal connection is back', () => app.ctx.signals.connected)
  expect(app.logged).toContainEqual(
    expect.objectContaining({ level: 'info', message: 'the database is available again' }),
  )
})

describe('a catalog that cannot be read after a commit', () => {
  /** Sends a write while reads of the catalog have to wait, and ends the connections of those that follow it. */
  const withoutCatalog = (write: () => Promise<TestResponse>) =>
    whileLocked(
      direct,
      (db) => db`lock table series in access exclusive mode`,
      async () => {
        let response: TestResponse | undefined
        const writing = write().then((sent) => {
          response = sent
        })
        await until('the write has a response', async () => {
          await endLockWaiters(direct.db)
          return response !== undefined
        })
        await writing
        return response!
      },
    )
  const addListing = () => insertListing(direct.db, seller.accountId, app.ctx.now())

  it('a change of a listing succeeds without the name of its item', async () => {
    const id = await addListing()
    const changed = await withoutCatalog(() =>
      seller.patch(`/v1/listings/${id}`, { payload: { price: 7 } }),
    )
    expect(changed.status).toBe(200)
    expect(changed.body.data).toMatchObject({ id, price: 7, listable: null })
  })

  it('an agent’s change of a listing succeeds without the name of its item', async () => {
    const id = await addListing()
    const token = await grantAccess(app, seller.accountId)
    const changed = await withoutCatalog(() =>
      send(
        app,
        '/mcp/seller',
        'tools/call',
        { name: 'change_listing', arguments: { listing: id, price: 7 } },
        { token },
      ),
    )
    expect(changed.body.result.structuredContent.data).toMatchObject({ id, price: 7 })
  })

  it('a change of visibility succeeds', async () => {
    const hide = { payload: { products: { tin: false } } }
    const hidden = await withoutCatalog(() =>
      app.operator.put('/operator/v1/catalog/visibility', hide),
    )
    expect(hidden.status).toBe(200)
    const show = { payload: { products: { tin: true } } }
    expect((await app.operator.put('/operator/v1/catalog/visibility', show)).status).toBe(200)
  })
})

it('a reset of a database connection causes a 503, never a 4xx', async () => {
  const responses: TestResponse[] = []
  const requests = Array.from({ length: 40 }, async (_, i) => {
    responses.push(await (i % 2 ? create() : seller.get('/v1/listings')))
  })
  const isDone = Promise.all(requests).then(() => true)
  while (!(await Promise.race([isDone, new Promise((resolve) => setImmediate(resolve))]))) {
    proxy.reset()
  }
  for (const response of responses) if (response.status !== 200) expectUnavailable(response)
  expect(responses.some(({ status }) => status === 503)).toBe(true)
  await until('reads work', async () => (await seller.get('/v1/listings')).status === 200)
})

it('while the database hangs, readiness fails within 2 s and catalog requests succeed', async () => {
  await until('the signal connection is back', () => app.ctx.signals.connected)
  // The key cache was emptied when the signal connection was lost.
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

it('every write is 503 while the database is a read-only standby, and works after its promotion', async () => {
  const dataDir = await emptyDatabase()
  const { url } = await start(dataDir)
  const { operator, logged, ...standby } = await startTestApp({ databaseUrl: url })
  const shop = await standby.member()
  const account = `/operator/v1/accounts/${shop.accountId}`
  const { key } = (await operator.post(`${account}/keys`, { payload: { scopes: SCOPES } })).body
  const tools = standby.withKey(key)
  const listing = await insertListing(standby.ctx.db, shop.accountId, standby.ctx.now())
  makeStandby(dataDir)
  const postmaster = postmasterOf(dataDir)
  process.kill(postmaster, 'SIGQUIT')
  await until('the standby runs', () => ![0, postmaster].includes(postmasterOf(dataDir)))
  await until('reads work', async () => (await tools.get('/v1/listings')).status === 200)
  logged.length = 0

  const once = () => ({ 'idempotency-key': crypto.randomUUID() })
  const writes = {
    checkout: () => sendCart({ operator }, [[listing, 1]]),
    'checkout with a key': () => sendCart({ operator }, [[listing, 1]], {}, once()),
    reservation: () =>
      operator.post('/operator/v1/reservations', {
        payload: { listing_id: listing, cart_id: 'cart', quantity: 1 },
      }),
    account: () =>
      operator.post('/operator/v1/accounts', {
        payload: { shop_name: 'Ash', email: 'ash@shops.example' },
        headers: once(),
      }),
    'change of an account': () => operator.patch(account, { payload: { rating: 4.5 } }),
    key: () => operator.post(`${account}/keys`, { payload: { scopes: SCOPES } }),
    'payout run': () => operator.post('/operator/v1/payout-runs', { headers: once() }),
    'take-down': () =>
      operator.post(`/operator/v1/listings/${listing}/take-down`, {
        payload: { reason: 'A fake' },
      }),
    endpoint: () =>
      tools.post('/v1/webhooks', {
        payload: { url: 'https://hook.example', events: ['listing.sold'] },
      }),
    'change of a listing': () => tools.patch(`/v1/listings/${listing}`, { payload: { price: 2 } }),
    'change of a listing in the dashboard': () =>
      shop.patch(`/dashboard/api/listings/${listing}`, { payload: { price: 2 } }),
    holiday: () => tools.put('/tools/v1/holiday', { payload: { on: true } }),
  }
  for (const [name, write] of Object.entries(writes)) {
    const response = await write()
    expect([name, response.status]).toEqual([name, 503])
    expectUnavailable(response)
  }
  await Promise.all([standby.runMail(), standby.runDeliveries()])
  expect(logged.filter(({ level }) => level === 'error')).toEqual([])
  await query(url, 'select pg_promote()')
  await until('a write works', async () => (await writes.account()).status === 201)
})
