import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { inTransaction } from '../../database/in-transaction.ts'
import { WEBHOOK_EVENTS } from '../../enums.ts'
import { sendMail } from '../../mail/outbox.ts'
import { markLive, startClock } from '../../sandbox/clock.ts'
import { type Seller, startTestApp, type TestApp } from '../../test/app.ts'
import { startMailServer } from '../../test/fakes/mail-server.ts'
import { fakeNetwork } from '../../test/fakes/network.ts'
import { deliveriesIn, subscribe } from '../../test/fakes/receiver.ts'
import { EVENT_KEYS } from '../../test/fixtures/events.ts'
import { until } from '../../test/until.ts'
import { walk } from '../../test/walk.ts'

const CLOCK = '/operator/v1/sandbox/clock'
const MAIL = '/operator/v1/sandbox/mail'
const EVENTS = '/operator/v1/sandbox/events'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})

/** The time of the clock, in whole seconds. */
const now = async (of: TestApp = app) => Date.parse((await of.operator.get(CLOCK)).body.data.now)
const advance = (seconds: unknown) =>
  app.operator.post(CLOCK, { payload: { advance_seconds: seconds } })

describe('the sandbox’s clock', () => {
  it('the sandbox clock is the real one until it is advanced, and continues from there', async () => {
    const began = Date.now()
    const before = await now()
    expect(before).toBeGreaterThan(began - 1_000)
    expect(before).toBeLessThanOrEqual(Date.now())
    const { status, body } = await advance(3_600)
    expect(status).toBe(200)
    expect(Date.parse(body.data.now) - before).toBeGreaterThanOrEqual(3_600_000)
    expect((await now()) - before - 3_600_000).toBeLessThan(Date.now() - began + 1_000)
  })

  it('the sandbox clock sets created_at of new records', async () => {
    const { body } = await advance(86_400)
    const made = await app.operator.post('/operator/v1/accounts', {
      payload: { shop_name: 'Later', email: 'later@mail.example' },
    })
    const createdAt = Date.parse(made.body.data.created_at)
    expect(createdAt).toBeGreaterThanOrEqual(Date.parse(body.data.now))
    expect(createdAt).toBeLessThanOrEqual(await now())
  })

  it('the sandbox clock advances in every process and survives a restart', async () => {
    const other = await startTestApp({ databaseUrl: app.databaseUrl })
    const before = await now()
    const between = await now(other)
    expect(between).toBeGreaterThanOrEqual(before)
    expect(between).toBeLessThanOrEqual(await now())
    await advance(7_200)
    await until(
      'the other process follows',
      async () => (await now()) - (await now(other)) <= 1_000,
    )
  })

  it('the sandbox clock of a process that starts follows an advance during its start', async () => {
    const { ctx } = app
    let moved = false
    const reading = new Proxy(ctx.db, {
      async apply(query, self, args) {
        const rows = await Reflect.apply(query, self, args)
        if (moved) return rows
        moved = true
        const signalled = new Promise<unknown>((resolve) => ctx.signals.on('clock', resolve))
        await ctx.clock.advance(3600)
        await signalled
        return rows
      },
    })
    const starting = await startClock({ ...ctx, db: reading }, ctx.signals, ctx.log)
    const isBehind = () => starting.now().getTime() < ctx.now().getTime() - 60_000
    await until('the clock has followed', () => !isBehind())
  })

  it('the sandbox clock cannot go back', async () => {
    for (const seconds of [-1, 1.5, '60', null]) {
      expect((await advance(seconds)).status).toBe(422)
    }
    expect((await advance(0)).status).toBe(200)
  })

  it('the sandbox clock refuses to go more than 100 years ahead in total, and does not move then', async () => {
    await advance(3_600)
    const began = Date.now()
    const before = await now()
    const { status, body } = await advance(100 * 365 * 24 * 60 * 60)
    expect({ status, fields: body.error.fields }).toEqual({
      status: 422,
      fields: {
        advance_seconds: [
          expect.stringMatching(/^The advance_seconds field must not be greater than 3\d{9}: /),
        ],
      },
    })
    expect((await now()) - before).toBeLessThan(Date.now() - began + 1_000)
  })
})

it('the routes of the sandbox return 404 outside of it', async () => {
  const real = await startTestApp({ settings: { SANDBOX: 'false' } })
  expect((await real.operator.get(CLOCK)).status).toBe(404)
  expect((await real.operator.post(CLOCK, { payload: { advance_seconds: 1 } })).status).toBe(404)
  expect((await real.operator.get(MAIL)).status).toBe(404)
  expect((await real.operator.put('/operator/v1/sandbox/carrier', { payload: {} })).status).toBe(
    404,
  )
  const payload = { account_id: (await real.seller()).accountId, event: 'order.created' }
  expect((await real.operator.post(EVENTS, { payload })).status).toBe(404)
})

it('a service outside the sandbox does not start on a database whose test clock was moved', async () => {
  const sandbox = await startTestApp()
  const goLive = () =>
    startTestApp({ databaseUrl: sandbox.databaseUrl, settings: { SANDBOX: 'false' } })
  await goLive()
  await sandbox.operator.post(CLOCK, { payload: { advance_seconds: 1 } })
  await expect(goLive()).rejects.toThrow(/^The test clock .*\. Use another database\.$/)
})

it('a sandbox does not start on the database of a marketplace, unless that is a copy whose mark was removed', async () => {
  const real = await startTestApp({ settings: { SANDBOX: 'false' } })
  const startSandbox = () => startTestApp({ databaseUrl: real.databaseUrl })
  await markLive(real.ctx.db)
  await markLive(real.ctx.db)
  await expect(startSandbox()).rejects.toThrow(
    /^SANDBOX is true, but the database belongs to a marketplace: .* SANDBOX=false\.$/,
  )
  await startTestApp({ databaseUrl: real.databaseUrl, settings: { SANDBOX: 'false' } })
  await real.ctx.db`update clock set live = false`
  await startSandbox()
})

describe('sandbox e-mail', () => {
  const saleMail = (number: number) => ({
    to: `kanto-${number}@shops.example`,
    subject: `Sold ${number}`,
    text: 'Your Pikachu was bought.\n',
  })

  it('sandbox e-mail is listed from the commit of its cause on, even after it is captured', async () => {
    const sandbox = await startTestApp()
    const list = async () => (await sandbox.operator.get(MAIL)).body.data
    const before = Math.floor(sandbox.ctx.now().getTime() / 1000) * 1000
    await inTransaction(sandbox.ctx, async (tx) => {
      await sendMail(tx, saleMail(1))
      expect(await list()).toEqual([])
    })
    const listed = await list()
    expect(listed).toEqual([
      { ...saleMail(1), created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}Z$/) },
    ])
    expect(Date.parse(listed[0].created_at)).toBeGreaterThanOrEqual(before)
    await sandbox.runMail()
    expect(await list()).toEqual(listed)
  })

  it('sandbox e-mail is listed newest first, in pages', async () => {
    const sandbox = await startTestApp()
    for (const number of [1, 2, 3, 4, 5]) await sendMail(sandbox.ctx, saleMail(number))
    const pages = await walk(sandbox.operator, `${MAIL}?per_page=2`)
    const subjects = pages.map(({ body }) =>
      body.data.map((mail: { subject: string }) => mail.subject),
    )
    expect(subjects).toEqual([['Sold 5', 'Sold 4'], ['Sold 3', 'Sold 2'], ['Sold 1']])
    expect(pages[2]!.body.meta).toMatchObject({ current_page: 3, last_page: 3, from: 5, total: 5 })
    expect((await sandbox.operator.get(`${MAIL}?page=0`)).status).toBe(422)
  })

  it('sandbox e-mail is listed even if a mail server is configured', async () => {
    const server = await startMailServer()
    const sandbox = await startTestApp({
      settings: { SMTP_URL: server.url, MAIL_FROM: 'shop@cards.example' },
    })
    await sendMail(sandbox.ctx, saleMail(1))
    await sandbox.runMail()
    expect(server.received).toHaveLength(1)
    expect((await sandbox.operator.get(MAIL)).body.data).toMatchObject([saleMail(1)])
  })

  it('only the operator can read sandbox e-mail', async () => {
    expect((await app.anyone.get(MAIL)).status).toBe(401)
    expect((await (await app.seller()).get(MAIL)).status).toBe(401)
  })
})

describe('sandbox events', () => {
  let seller: Seller
  beforeEach(async () => {
    seller = await app.seller()
  })
  const send = (payload: object) => app.operator.post(EVENTS, { payload })
  const deliveriesOf = (id: number) => deliveriesIn(app, `endpoint_id=${id}`)

  it.each(WEBHOOK_EVENTS)(
    'a sandbox event %s is delivered to the endpoints subscribed to it',
    async (event) => {
      const hook = 'https://shop.example/hooks'
      const [first, second] = [
        await subscribe(seller, hook),
        await subscribe(seller, hook, [event]),
      ]
      const others = WEBHOOK_EVENTS.filter((other) => other !== event)
      const unsubscribed = await subscribe(seller, hook, others)
      const stranger = await subscribe(await app.seller(), hook)
      const { status, body } = await send({ account_id: seller.accountId, event })
      expect([status, body]).toEqual([202, { data: { event, deliveries: 2 } }])
      for (const { id } of [first, second]) {
        const [delivery, ...more] = await deliveriesOf(id)
        expect(more).toEqual([])
        expect(delivery).toMatchObject({ event, status: 'pending', payload: { event } })
        expect(Object.keys(delivery.payload.data)).toEqual(EVENT_KEYS[event])
      }
      for (const { id } of [unsubscribed, stranger]) expect(await deliveriesOf(id)).toEqual([])
    },
  )

  it('a sandbox event has the time of its request', async () => {
    const { id } = await subscribe(seller, 'https://shop.example/hooks')
    await advance(3_600)
    const before = await now()
    await send({ account_id: seller.accountId, event: 'listing.sold' })
    const [{ created_at, payload }] = await deliveriesOf(id)
    expect(Date.parse(created_at)).toBeGreaterThanOrEqual(before)
    expect(payload.created_at).toBe(created_at)
  })

  it('a sandbox event without subscribed endpoints creates no delivery', async () => {
    await subscribe(seller, 'https://shop.example/hooks', ['listing.sold'])
    const { status, body } = await send({ account_id: seller.accountId, event: 'order.created' })
    expect([status, body]).toEqual([202, { data: { event: 'order.created', deliveries: 0 } }])
  })

  it('a sandbox event is skipped for a disabled endpoint, which is not counted', async () => {
    const internet = fakeNetwork()
    internet.names.set('dead.example', ['10.0.0.1'])
    const sandbox = await startTestApp({ network: internet })
    const shop = await sandbox.seller()
    const { id } = await subscribe(shop, 'https://dead.example/hooks')
    const payload = { account_id: shop.accountId, event: 'order.created' }
    for (let failure = 0; failure < 10; failure++) await sandbox.operator.post(EVENTS, { payload })
    await sandbox.runDeliveries()
    await subscribe(shop, 'https://shop.example/hooks')
    const { body } = await sandbox.operator.post(EVENTS, { payload })
    expect(body.data.deliveries).toBe(1)
    expect((await deliveriesIn(sandbox, `endpoint_id=${id}`))[0]).toMatchObject({
      status: 'skipped',
      attempts: [],
      next_attempt_at: null,
    })
  })

  it.each([1_000_000, Number.MAX_SAFE_INTEGER])(
    'a sandbox event for the unknown account %s gets a 404',
    async (account_id) => {
      const { status, body } = await send({ account_id, event: 'order.created' })
      expect([status, body.error.type]).toEqual([404, 'not_found'])
    },
  )

  it.each([
    [{ event: 'order.shipped' }, 'event'],
    [{ event: null }, 'event'],
    [{ event: undefined }, 'event'],
    [{ event: ['order.created'] }, 'event'],
    [{ account_id: '1' }, 'account_id'],
    [{ account_id: 0 }, 'account_id'],
    [{ account_id: 1.5 }, 'account_id'],
    [{ account_id: 2 ** 53 }, 'account_id'],
    [{ account_id: null }, 'account_id'],
    [{ account_id: undefined }, 'account_id'],
  ])('a sandbox event with %j gets a 422', async (wrong, field) => {
    const { status, body } = await send({
      account_id: seller.accountId,
      event: 'order.created',
      ...wrong,
    })
    expect([status, Object.keys(body.error.fields)]).toEqual([422, [field]])
  })

  it('only the operator can send sandbox events', async () => {
    const payload = { account_id: seller.accountId, event: 'order.created' }
    expect((await app.anyone.post(EVENTS, { payload })).status).toBe(401)
    expect((await seller.post(EVENTS, { payload })).status).toBe(401)
  })
})
