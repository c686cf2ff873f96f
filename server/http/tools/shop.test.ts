import { beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../../test/app.ts'
import { cardItem, list, listed, NO_LIMITS } from '../../test/fixtures/listings.ts'
import {
  ADDRESS,
  LABEL,
  LETTER,
  openShop,
  operatorOption,
  PARCEL,
  sendCart,
} from '../../test/fixtures/orders.ts'
import { untilLockWaiters } from '../../test/lock-waiters.ts'

let app: TestApp
/** Another service on the same database. */
let other: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  other = await startTestApp({ databaseUrl: app.databaseUrl, settings: NO_LIMITS })
})

const OPTIONS = '/tools/v1/shipping-options'
const HOLIDAY = '/tools/v1/holiday'

const EVERYWHERE = { ...operatorOption(PARCEL), countries: null, max_value: null }
const letter = (limits: object) => ({ ...operatorOption(LETTER), ...limits })

describe('PUT /tools/v1/shipping-options', () => {
  it('PUT /tools/v1/shipping-options replaces the options, which the dashboard and the operator see', async () => {
    const seller = await openShop(app, LETTER)
    const options = [letter({ countries: ['NL', 'BE'], max_value: 25.5 }), EVERYWHERE]
    const payload = { shipping_options: [options[0], operatorOption(PARCEL)] }
    expect((await seller.put(OPTIONS, { payload })).body).toEqual({ data: options })
    expect((await seller.get(OPTIONS)).body).toEqual({ data: options })
    const account = await app.operator.get(`/operator/v1/accounts/${seller.accountId}`)
    expect(account.body.data.shipping_options).toEqual([options[0], operatorOption(PARCEL)])
    const member = await app.member(seller.accountId)
    const me = await member.get('/dashboard/api/me')
    expect(me.body.data.account.shipping_options).toEqual(account.body.data.shipping_options)
  })

  it.each([
    ['a country in lower case', { countries: ['nl'] }, 'shipping_options.0.countries.0'],
    ['an empty list of countries', { countries: [] }, 'shipping_options.0.countries'],
    ['a code that no country has', { countries: ['NL', 'ZZ'] }, 'shipping_options.0.countries'],
    ['a country that occurs twice', { countries: ['NL', 'NL'] }, 'shipping_options.0.countries'],
    ['a value below 0', { max_value: -1 }, 'shipping_options.0.max_value'],
    ['a highest value of 0', { max_value: 0 }, 'shipping_options.0.max_value'],
  ])('PUT /tools/v1/shipping-options refuses %s', async (_, limits, field) => {
    const seller = await openShop(app, LETTER)
    const payload = { shipping_options: [letter(limits)] }
    const { status, body } = await seller.put(OPTIONS, { payload })
    expect([status, Object.keys(body.error.fields)]).toEqual([422, [field]])
  })

  it('the refusal of a shipping option names the codes that no country has, also to the operator', async () => {
    const seller = await openShop(app, LETTER)
    const payload = { shipping_options: [letter({ countries: ['XK', 'UK', 'GB', 'EU'] })] }
    const field = 'shipping_options.0.countries'
    const fields = { [field]: [`The ${field} field has codes that no country has: UK, EU.`] }
    expect((await seller.put(OPTIONS, { payload })).body.error.fields).toEqual(fields)
    const account = `/operator/v1/accounts/${seller.accountId}`
    expect((await app.operator.patch(account, { payload })).body.error.fields).toEqual(fields)
  })

  it('while the marketplace sells no labels, a seller keeps an option with a label, but cannot add one', async () => {
    const real = await startTestApp({ settings: { SANDBOX: 'false' } })
    const seller = await openShop(real, LABEL)
    const member = await real.member(seller.accountId)
    const label = { ...operatorOption(LABEL), price: 1 }
    const put = (...shipping_options: object[]) =>
      seller.put(OPTIONS, { payload: { shipping_options } })
    expect((await put(label)).status).toBe(200)
    const added = { ...label, code: 'parcel' }
    const payload = { shipping_options: [label, added] }
    const field = 'shipping_options.1.fulfilment'
    const message = `The ${field} field must be self_ship, because the marketplace sells no labels.`
    for (const refused of [
      await put(label, added),
      await member.put('/dashboard/api/settings/shipping-options', { payload }),
    ]) {
      expect([refused.status, refused.body.error.fields]).toEqual([422, { [field]: [message] }])
    }
    const account = await real.operator.get(`/operator/v1/accounts/${seller.accountId}`)
    expect(account.body.data.shipping_options).toEqual([label])
  })

  it('concurrent replacements of the shipping options all succeed, and one of them remains', async () => {
    const seller = await openShop(app, LETTER)
    const responses = await Promise.all(
      [1, 2, 3, 4, 5, 6].map((price) => {
        const at = price % 2 ? seller : other.withKey(seller.key)
        const options = [letter({ price }), { ...operatorOption(PARCEL), price }]
        return at.put(OPTIONS, { payload: { shipping_options: options } })
      }),
    )
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200])
    const { data } = (await seller.get(OPTIONS)).body
    expect(data.map(({ code }: { code: string }) => code)).toEqual(['letter', 'parcel'])
    expect(data[0].price).toBe(data[1].price)
  })

  it('a checkout only uses options that fit the country and the value of the seller’s goods', async () => {
    const seller = await openShop(app, LETTER)
    const options = [letter({ countries: ['NL', 'BE'], max_value: 20 }), EVERYWHERE]
    await seller.put(OPTIONS, { payload: { shipping_options: options } })
    const [id] = await list(seller, cardItem({ price: 10, quantity: 99 }))
    const elsewhere = await openShop(app, PARCEL)
    const [costly] = await list(elsewhere, cardItem({ price: 500 }))
    const to = (country: string) => ({ address: { ...ADDRESS, country } })
    const choice = { shipping: [{ account_id: seller.accountId, option: 'letter' }] }
    const priceOf = async (quantity: number, more: object) => {
      const { body } = await sendCart(app, [[id!, quantity]], more)
      return body.data?.slices[0].shipping_price ?? Object.keys(body.error.fields)
    }
    const refused = ['shipping.0.option']

    expect(await priceOf(2, to('NL'))).toBe(1.2)
    expect(await priceOf(2, { ...to('be'), ...choice })).toBe(1.2)
    expect(await priceOf(3, to('NL'))).toBe(6.95)
    expect(await priceOf(3, { ...to('NL'), ...choice })).toEqual(refused)
    expect(await priceOf(1, to('DE'))).toBe(6.95)
    expect(await priceOf(1, { ...to('DE'), ...choice })).toEqual(refused)
    expect(await priceOf(1, { address: null })).toBe(6.95)
    expect(await priceOf(1, { address: null, ...choice })).toEqual(refused)
    // The goods of another seller in the cart don't count.
    const cart = await sendCart(
      app,
      [
        [id!, 2],
        [costly!, 1],
      ],
      choice,
    )
    expect(cart.status).toBe(201)

    await seller.put(OPTIONS, { payload: { shipping_options: options.slice(0, 1) } })
    expect((await sendCart(app, [[id!, 3]])).status).toBe(409)
  })
})

describe('PUT /tools/v1/holiday', () => {
  it('a holiday hides the shop and its offers and blocks sales in every process; statuses stay', async () => {
    const seller = await openShop(app)
    const reader = await app.seller()
    const [id] = await list(seller, cardItem())
    const shop = await app.operator.get(`/operator/v1/accounts/${seller.accountId}`)
    const isOffered = async (service: TestApp) => {
      const card = await service.withKey(reader.key).get('/v1/cards/sv3-125?include=listings')
      return card.body.data.listings.some((offer: { id: number }) => offer.id === id)
    }
    const page = (path: string) => app.anyone.get(path)
    const shopPage = `/shops/${shop.body.data.slug}`
    expect(await isOffered(app)).toBe(true)
    for (const path of ['/cards/sv3-125', '/sitemaps/shops.xml']) {
      expect((await page(path)).text).toContain(shopPage)
    }

    const on = await seller.put(HOLIDAY, { payload: { on: true } })
    expect(on.body).toEqual({ data: { on: true } })
    expect((await seller.get(HOLIDAY)).body).toEqual({ data: { on: true } })
    expect(await isOffered(app)).toBe(false)
    await expect.poll(() => isOffered(other)).toBe(false)
    expect((await page('/cards/sv3-125')).text).not.toContain(shopPage)
    expect((await page(shopPage)).status).toBe(404)
    expect((await page('/sitemaps/shops.xml')).text).not.toContain(shopPage)
    for (const service of [app, other]) {
      const { status, body } = await sendCart(service, [[id!, 1]])
      expect([status, body.error.message]).toEqual([
        409,
        `Seller ${seller.accountId} is on holiday, suspended or closed, so their listings cannot be ordered.`,
      ])
    }
    const reservation = { listing_id: id, quantity: 1, cart_id: 'holiday' }
    const held = await app.operator.post('/operator/v1/reservations', { payload: reservation })
    expect(held.status).toBe(409)
    expect(await listed(seller, id!)).toMatchObject({ status: 'active', quantity: 3 })
    const member = await app.member(seller.accountId)
    expect((await member.get('/dashboard/api/me')).body.data.account.on_holiday).toBe(true)

    const off = await member.put('/dashboard/api/settings/holiday', { payload: { on: false } })
    expect(off.status).toBe(204)
    expect(await isOffered(app)).toBe(true)
    expect((await page(shopPage)).status).toBe(200)
    expect((await sendCart(app, [[id!, 1]])).status).toBe(201)
  })

  it('a holiday that begins waits for checkouts that have read the former state', async () => {
    const seller = await openShop(app)
    const [id] = await list(seller, cardItem({ quantity: 9 }))
    let sale: ReturnType<typeof sendCart> | undefined
    let holiday: ReturnType<typeof seller.put> | undefined
    let isOver = false
    await app.ctx.begin(async (db) => {
      // Checkouts read their sellers, and then wait here.
      await db`lock table slices in exclusive mode`
      sale = sendCart(other, [[id!, 1]])
      await untilLockWaiters(app.ctx.db, 1)
      holiday = seller.put(HOLIDAY, { payload: { on: true } })
      holiday.then(() => {
        isOver = true
      })
      await untilLockWaiters(app.ctx.db, 2)
      expect(isOver).toBe(false)
    })
    expect((await sale!).status).toBe(201)
    expect((await holiday!).status).toBe(200)
  })

  it('a checkout that began before a holiday, but had not locked the shop when the holiday began, places no order', async () => {
    const [first, second] = [await openShop(app), await openShop(app)]
    const lines = await Promise.all(
      [first, second].map(async (seller) => (await list(seller, cardItem({ quantity: 9 })))[0]!),
    )
    let sale: ReturnType<typeof sendCart> | undefined
    await app.ctx.begin(async (db) => {
      // Checkouts lock their sellers in the order of their ids.
      await db`select from accounts where id = ${first.accountId} for update`
      sale = sendCart(
        other,
        lines.map((id) => [id, 1]),
      )
      await untilLockWaiters(app.ctx.db, 1)
      expect((await second.put(HOLIDAY, { payload: { on: true } })).status).toBe(200)
    })
    expect((await sale!).status).toBe(409)
  })

  it('no order is placed after the response that a holiday has begun, while many buyers check out in two processes', async () => {
    const seller = await openShop(app)
    const [id] = await list(seller, cardItem({ quantity: 999 }))
    const orders = async () =>
      (await app.ctx.db`select from orders where account_id = ${seller.accountId}`).length
    for (let round = 0; round < 3; round++) {
      await seller.put(HOLIDAY, { payload: { on: false } })
      let isOpen = true
      const buyers = [app, other, app, other].map(async (service) => {
        while (isOpen) isOpen = (await sendCart(service, [[id!, 1]])).status === 201
      })
      await expect.poll(orders, { interval: 1 }).toBeGreaterThan(round * 8)
      await seller.put(HOLIDAY, { payload: { on: true } })
      const placed = await orders()
      await Promise.all(buyers)
      expect(await orders()).toBe(placed)
    }
  })

  it('a key without listings:write can’t begin a holiday', async () => {
    const seller = await app.seller({ scopes: ['listings:read', 'orders:write'] })
    expect((await seller.put(HOLIDAY, { payload: { on: true } })).status).toBe(403)
    expect((await seller.get(OPTIONS)).status).toBe(403)
  })
})
