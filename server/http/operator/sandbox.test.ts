import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { inTransaction } from '../../database/in-transaction.ts'
import { WEBHOOK_EVENTS, type WebhookEvent } from '../../enums.ts'
import { sendMail } from '../../mail/outbox.ts'
import { startTestApp, type TestApp } from '../../test/app.ts'
import { startMailServer } from '../../test/fakes/mail-server.ts'
import { fakeNetwork } from '../../test/fakes/network.ts'
import { deliveriesIn, subscribe } from '../../test/fakes/receiver.ts'
import { until } from '../../test/until.ts'
import { walk } from '../../test/walk.ts'

const CLOCK = '/operator/v1/sandbox/clock'
const MAIL = '/operator/v1/sandbox/mail'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})

const now = async (of: TestApp = app) => Date.parse((await of.operator.get(CLOCK)).body.data.now)
const advance = (seconds: unknown) =>
  app.operator.post(CLOCK, { payload: { advance_seconds: seconds } })

describe('the sandbox’s clock', () => {
  it('is the real one until somebody moves it, and then goes on from there', async () => {
    expect(Math.abs((await now()) - Date.now())).toBeLessThan(5_000)
    const before = await now()
    const { status, body } = await advance(3_600)
    expect(status).toBe(200)
    expect(Date.parse(body.data.now) - before).toBeGreaterThanOrEqual(3_600_000)
    expect((await now()) - before).toBeLessThan(3_605_000)
  })

  it('moves the time of every fact', async () => {
    const { body } = await advance(86_400)
    const made = await app.operator.post('/operator/v1/accounts', {
      payload: { shop_name: 'Later', email: 'later@mail.example' },
    })
    const apart = Date.parse(made.body.data.created_at) - Date.parse(body.data.now)
    expect(apart).toBeGreaterThanOrEqual(0)
    expect(apart).toBeLessThan(5_000)
  })

  it('moves in every process, and is still moved after a restart', async () => {
    const other = await startTestApp({ databaseUrl: app.databaseUrl })
    expect(Math.abs((await now(other)) - (await now()))).toBeLessThanOrEqual(1_000)
    await advance(7_200)
    await until('the other clock follows', async () => (await now()) - (await now(other)) <= 1_000)
  })

  it('never goes back', async () => {
    for (const seconds of [-1, 1.5, '60', null]) {
      expect((await advance(seconds)).status).toBe(422)
    }
    expect((await advance(0)).status).toBe(200)
  })

  it('is not there outside the sandbox', async () => {
    const real = await startTestApp({ settings: { SANDBOX: 'false' } })
    expect((await real.operator.get(CLOCK)).status).toBe(404)
    expect((await real.operator.post(CLOCK, { payload: { advance_seconds: 1 } })).status).toBe(404)
  })
})

describe('the sandbox’s mail', () => {
  const sold = (number: number) => ({
    to: `kanto-${number}@shops.example`,
    subject: `Sold ${number}`,
    text: 'Your Pikachu was bought.\n',
  })

  it('is listed as it was written, as soon as its cause has committed, and stays when it is captured', async () => {
    const sandbox = await startTestApp()
    const list = async () => (await sandbox.operator.get(MAIL)).body.data
    const before = Math.floor(sandbox.ctx.now().getTime() / 1000) * 1000
    await inTransaction(sandbox.ctx, async (tx) => {
      await sendMail(tx, sold(1))
      expect(await list()).toEqual([])
    })
    const listed = await list()
    expect(listed).toEqual([
      { ...sold(1), created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}Z$/) },
    ])
    expect(Date.parse(listed[0].created_at)).toBeGreaterThanOrEqual(before)
    await sandbox.runMail()
    expect(await list()).toEqual(listed)
  })

  it('comes newest first and in pages', async () => {
    const sandbox = await startTestApp()
    for (const number of [1, 2, 3, 4, 5]) await sendMail(sandbox.ctx, sold(number))
    const pages = await walk(sandbox.operator, `${MAIL}?per_page=2`)
    const subjects = pages.map(({ body }) =>
      body.data.map((mail: { subject: string }) => mail.subject),
    )
    expect(subjects).toEqual([['Sold 5', 'Sold 4'], ['Sold 3', 'Sold 2'], ['Sold 1']])
    expect(pages[2]!.body.meta).toMatchObject({ current_page: 3, last_page: 3, from: 5, total: 5 })
    expect((await sandbox.operator.get(`${MAIL}?page=0`)).status).toBe(422)
  })

  it('is listed where there is a mail server, too', async () => {
    const server = await startMailServer()
    const sandbox = await startTestApp({
      settings: { SMTP_URL: server.url, MAIL_FROM: 'shop@cards.example' },
    })
    await sendMail(sandbox.ctx, sold(1))
    await sandbox.runMail()
    expect(server.received).toHaveLength(1)
    expect((await sandbox.operator.get(MAIL)).body.data).toMatchObject([sold(1)])
  })

  it('is nobody’s but the operator’s', async () => {
    expect((await app.anyone.get(MAIL)).status).toBe(401)
    expect((await (await app.seller()).get(MAIL)).status).toBe(401)
  })

  it('is not there outside the sandbox', async () => {
    const real = await startTestApp({ settings: { SANDBOX: 'false' } })
    expect((await real.operator.get(MAIL)).status).toBe(404)
  })
})

describe('the sandbox’s events', () => {
  const EVENTS = '/operator/v1/sandbox/events'
  let seller: Awaited<ReturnType<TestApp['seller']>>
  beforeEach(async () => {
    seller = await app.seller()
  })
  const send = (payload: object) => app.operator.post(EVENTS, { payload })
  const logOf = (id: number) => deliveriesIn(app, `endpoint_id=${id}`)

  it.each(WEBHOOK_EVENTS)(
    'send a sample of %s to the endpoints that are subscribed to it',
    async (event) => {
      const hook = 'https://shop.example/hooks'
      const [one, two] = [await subscribe(seller, hook), await subscribe(seller, hook, [event])]
      const others = WEBHOOK_EVENTS.filter((other) => other !== event)
      const not = await subscribe(seller, hook, others)
      const stranger = await subscribe(await app.seller(), hook)
      const { status, body } = await send({ account_id: seller.accountId, event })
      expect([status, body]).toEqual([202, { data: { event, deliveries: 2 } }])
      for (const { id } of [one, two]) {
        const [delivery, ...more] = await logOf(id)
        expect(more).toEqual([])
        expect(delivery).toMatchObject({ event, status: 'pending', payload: { event } })
        expect(Object.keys(delivery.payload.data)).toEqual(KEYS[event])
      }
      for (const { id } of [not, stranger]) expect(await logOf(id)).toEqual([])
    },
  )

  it('are as old as their request', async () => {
    const { id } = await subscribe(seller, 'https://shop.example/hooks')
    await advance(3_600)
    const before = await now()
    await send({ account_id: seller.accountId, event: 'listing.sold' })
    const [{ created_at, payload }] = await logOf(id)
    expect(Date.parse(created_at)).toBeGreaterThanOrEqual(before)
    expect(payload.created_at).toBe(created_at)
  })

  it('come to nothing where nobody is subscribed', async () => {
    await subscribe(seller, 'https://shop.example/hooks', ['listing.sold'])
    const { status, body } = await send({ account_id: seller.accountId, event: 'order.created' })
    expect([status, body]).toEqual([202, { data: { event: 'order.created', deliveries: 0 } }])
  })

  it('are skipped for a disabled endpoint, and it is not counted', async () => {
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
    'answer 404 for the account %s, which there is not',
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
  ])('refuse %j with 422 on it', async (wrong, field) => {
    const { status, body } = await send({
      account_id: seller.accountId,
      event: 'order.created',
      ...wrong,
    })
    expect([status, Object.keys(body.error.fields)]).toEqual([422, [field]])
  })

  it('are nobody’s but the operator’s', async () => {
    const payload = { account_id: seller.accountId, event: 'order.created' }
    expect((await app.anyone.post(EVENTS, { payload })).status).toBe(401)
    expect((await seller.post(EVENTS, { payload })).status).toBe(401)
  })

  it('are not there outside the sandbox', async () => {
    const real = await startTestApp({ settings: { SANDBOX: 'false' } })
    const payload = { account_id: (await real.seller()).accountId, event: 'order.created' }
    expect((await real.operator.post(EVENTS, { payload })).status).toBe(404)
  })
})

/** The payload's keys by §6.3, in its order. */
const KEYS: Record<WebhookEvent, string[]> = {
  'order.created': [
    ...['order_id', 'slice_key', 'listing_id', 'quantity', 'price', 'currency', 'item_name'],
    ...['buyer_name', 'delivery_address'],
  ],
  'listing.sold': ['listing_id', 'order_id', 'quantity_sold', 'remaining_quantity'],
  'order.cancelled': ['order_id', 'cancelled_by'],
  'order.label_ready': ['order_id', 'has_label', 'label_url', 'tracking_code'],
}
