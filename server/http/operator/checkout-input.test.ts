import { beforeAll, describe, expect, it } from 'vitest'
import { type Seller, startTestApp, type TestApp } from '../../test/app.ts'
import { cardItem, changeAccount, list, listed, NO_LIMITS } from '../../test/fixtures/listings.ts'
import {
  ADDRESS,
  BUYER,
  buy,
  eventsOf,
  LABEL,
  type Line,
  PARCEL,
  sendCart,
  shipsBy,
  sliceOf,
} from '../../test/fixtures/orders.ts'

let app: TestApp
let seller: Seller
let listing: number
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  seller = await app.seller({ account: shipsBy(PARCEL) })
  listing = await stock(999)
})

const stock = async (quantity: number) => (await list(seller, cardItem({ quantity })))[0]!

const quantityOf = async (id: number): Promise<number> => (await listed(seller, id)).quantity

/** The number of units of a listing that `work` sells. */
async function unitsSoldBy(work: () => Promise<unknown>, of = listing) {
  const before = await quantityOf(of)
  await work()
  return before - (await quantityOf(of))
}

const buyer = (more: object) => ({ buyer: { ...BUYER, ...more } })
const address = (more: object) => ({ address: { ...ADDRESS, ...more } })
const line = (more: object) => () => ({ lines: [{ listing_id: listing, quantity: 1, ...more }] })
const choice = (more: object) => ({
  shipping: [{ account_id: 1, option: 'parcel', ...more }],
})

describe('invalid checkouts', () => {
  it.each<[string, object | (() => object), string]>([
    ['no buyer', { buyer: undefined }, 'buyer'],
    ['a buyer that is null', { buyer: null }, 'buyer'],
    ['a buyer that is a string', { buyer: 'Misty' }, 'buyer'],
    ['a buyer without a name', buyer({ name: undefined }), 'buyer.name'],
    ['a buyer with an empty name', buyer({ name: '' }), 'buyer.name'],
    ['a buyer whose name is null', buyer({ name: null }), 'buyer.name'],
    ['a buyer whose name is a number', buyer({ name: 7 }), 'buyer.name'],
    ['a name of 201 characters', buyer({ name: '𠮷'.repeat(201) }), 'buyer.name'],
    ['a name with a NUL', buyer({ name: 'Mis\0ty' }), 'buyer.name'],
    ['a name with a lone surrogate', buyer({ name: 'Misty \ud83d' }), 'buyer.name'],
    ['no e-mail address', buyer({ email: undefined }), 'buyer.email'],
    ['an empty e-mail address', buyer({ email: '' }), 'buyer.email'],
    ['an e-mail address that is null', buyer({ email: null }), 'buyer.email'],
    ['an e-mail address without @', buyer({ email: 'misty.example' }), 'buyer.email'],
    ['an e-mail address with a space', buyer({ email: 'mi sty@x.example' }), 'buyer.email'],
    ['two e-mail addresses', buyer({ email: 'a@x.example,b@x.example' }), 'buyer.email'],
    ['an e-mail address in angle brackets', buyer({ email: '<a@x.example>' }), 'buyer.email'],
    ['an e-mail address with a line break', buyer({ email: 'a@x.example\nBcc: b' }), 'buyer.email'],
    [
      'an e-mail address of 255 characters',
      buyer({ email: `${'x'.repeat(253)}@x` }),
      'buyer.email',
    ],
    ['an address that is a string', { address: 'Cape Road 25' }, 'address'],
    ['an address that is a list', { address: [] }, 'address'],
    ['an address that is false', { address: false }, 'address'],
    ['no full name', address({ full_name: undefined }), 'address.full_name'],
    ['an empty full name', address({ full_name: '' }), 'address.full_name'],
    ['no street', address({ street: undefined }), 'address.street'],
    ['a street that is null', address({ street: null }), 'address.street'],
    ['a street with a NUL', address({ street: '\0' }), 'address.street'],
    ['no house number', address({ house_number: undefined }), 'address.house_number'],
    ['a house number that is a number', address({ house_number: 25 }), 'address.house_number'],
    [
      'a suffix of 21 characters',
      address({ house_number_suffix: 'x'.repeat(21) }),
      'address.house_number_suffix',
    ],
    [
      'a suffix that is a number',
      address({ house_number_suffix: 2 }),
      'address.house_number_suffix',
    ],
    ['no postal code', address({ zip: undefined }), 'address.zip'],
    ['an empty postal code', address({ zip: '' }), 'address.zip'],
    ['no city', address({ city: undefined }), 'address.city'],
    ['a city of 201 characters', address({ city: 'x'.repeat(201) }), 'address.city'],
    ['no country', address({ country: undefined }), 'address.country'],
    ['a country by its name', address({ country: 'Netherlands' }), 'address.country'],
    ['a country of one letter', address({ country: 'N' }), 'address.country'],
    ['a country that is not made of letters', address({ country: '1!' }), 'address.country'],
    ['a phone that is a number', address({ phone: 31_201_234_567 }), 'address.phone'],
    ['a phone of 51 characters', address({ phone: '1'.repeat(51) }), 'address.phone'],
    ['no lines', { lines: undefined }, 'lines'],
    ['lines that are null', { lines: null }, 'lines'],
    ['lines that are an object', { lines: {} }, 'lines'],
    ['an empty list of lines', { lines: [] }, 'lines'],
    ['a line that is a number', () => ({ lines: [listing] }), 'lines.0'],
    ['a line that is null', { lines: [null] }, 'lines.0'],
    ['a line without a listing', line({ listing_id: undefined }), 'lines.0.listing_id'],
    ['a line with a listing id sent as a string', line({ listing_id: '1' }), 'lines.0.listing_id'],
    ['a line of listing 0', line({ listing_id: 0 }), 'lines.0.listing_id'],
    ['a line of listing −1', line({ listing_id: -1 }), 'lines.0.listing_id'],
    ['a line with a fractional listing id', line({ listing_id: 1.5 }), 'lines.0.listing_id'],
    [
      'a line with a listing id beyond the safe integers',
      line({ listing_id: 2 ** 53 }),
      'lines.0.listing_id',
    ],
    ['a line with a listing id of 1e300', line({ listing_id: 1e300 }), 'lines.0.listing_id'],
    ['a line without a quantity', line({ quantity: undefined }), 'lines.0.quantity'],
    ['a quantity of 0', line({ quantity: 0 }), 'lines.0.quantity'],
    ['a quantity of −1', line({ quantity: -1 }), 'lines.0.quantity'],
    ['a quantity of 1.5', line({ quantity: 1.5 }), 'lines.0.quantity'],
    ['a quantity sent as a string', line({ quantity: '1' }), 'lines.0.quantity'],
    ['a quantity that is true', line({ quantity: true }), 'lines.0.quantity'],
    ['a quantity that is null', line({ quantity: null }), 'lines.0.quantity'],
    ['a quantity beyond the database’s integers', line({ quantity: 2 ** 31 }), 'lines.0.quantity'],
    ['a quantity of 1e300', line({ quantity: 1e300 }), 'lines.0.quantity'],
    ['an empty cart id', { cart_id: '' }, 'cart_id'],
    ['a cart id that is a number', { cart_id: 7 }, 'cart_id'],
    ['a cart id of 256 characters', { cart_id: 'x'.repeat(256) }, 'cart_id'],
    ['a cart id with a NUL', { cart_id: '\0' }, 'cart_id'],
    ['shipping choices that are an object', { shipping: {} }, 'shipping'],
    ['shipping choices that are null', { shipping: null }, 'shipping'],
    [
      'a shipping choice without an account',
      choice({ account_id: undefined }),
      'shipping.0.account_id',
    ],
    [
      'a shipping choice of an account sent as a string',
      choice({ account_id: '1' }),
      'shipping.0.account_id',
    ],
    ['a shipping choice without an option', choice({ option: undefined }), 'shipping.0.option'],
    ['a shipping choice of an empty option', choice({ option: '' }), 'shipping.0.option'],
    ['a shipping choice of null', choice({ option: null }), 'shipping.0.option'],
  ])('a checkout with %s gets a 422 and sells nothing', async (_, more, field) => {
    const sold = await unitsSoldBy(async () => {
      const body = typeof more === 'function' ? more() : more
      const response = await sendCart(app, [[listing, 1]], body)
      expect(response.status).toBe(422)
      expect(response.body.error).toEqual({
        type: 'validation_error',
        message: expect.any(String),
        fields: { [field]: expect.arrayContaining([expect.any(String)]) },
      })
    })
    expect(sold).toBe(0)
  })

  it('an address with a blank name, street or city is a 422 if the order ships with a label', async () => {
    const shop = await app.seller({ account: shipsBy(LABEL, PARCEL) })
    const [own] = (await list(shop, cardItem({ quantity: 1 }))) as [number]
    const blank = address({ full_name: ' ', street: '\u00a0', city: '\t' })
    const refused = await sendCart(app, [[own, 1]], blank)
    expect(refused.status).toBe(422)
    expect(Object.keys(refused.body.error.fields)).toEqual([
      'address.full_name',
      'address.street',
      'address.city',
    ])
    expect(await listed(shop, own)).toMatchObject({ quantity: 1 })
    // The seller writes the envelope, and some places have no street.
    const shipping = [{ account_id: shop.accountId, option: PARCEL.code }]
    expect((await sendCart(app, [[own, 1]], { ...blank, shipping })).status).toBe(201)
  })

  it('an address without a house number or a postal code can ship with a label', async () => {
    const shop = await app.seller({ account: shipsBy(LABEL) })
    const [own] = (await list(shop, cardItem())) as [number]
    const more = address({ house_number: ' ', zip: ' ' })
    expect((await sendCart(app, [[own, 1]], more)).status).toBe(201)
  })

  it('a checkout reports all invalid fields at once', async () => {
    const { status, body } = await sendCart(app, [[listing, 0]], {
      ...buyer({ name: '' }),
      ...address({ zip: null, city: undefined }),
    })
    expect(status).toBe(422)
    expect(Object.keys(body.error.fields).sort()).toEqual(
      ['address.city', 'address.zip', 'buyer.name', 'lines.0.quantity'].sort(),
    )
  })

  it('a checkout is validated before its listings are looked up', async () => {
    const { body } = await sendCart(app, [
      [999_999, 1],
      [listing, 0],
    ])
    expect(Object.keys(body.error.fields)).toEqual(['lines.1.quantity'])
  })

  it.each([
    ['invalid JSON', '{'],
    ['an array', '[]'],
    ['null', 'null'],
  ])('a checkout whose body is %s gets a 422 on body', async (_, payload) => {
    const { status, body } = await app.operator.post('/operator/v1/checkouts', {
      payload,
      headers: { 'content-type': 'application/json' },
    })
    expect([status, Object.keys(body.error.fields)]).toEqual([422, ['body']])
  })
})

describe('valid checkouts', () => {
  it.each<[string, object]>([
    ['a name of 200 characters', buyer({ name: '𠮷'.repeat(200) })],
    ['the longest e-mail address', buyer({ email: `${'x'.repeat(252)}@x` })],
    ['a country in two letters', address({ country: 'be' })],
    ['null as the cart id', { cart_id: null }],
    ['no shipping choices', { shipping: [] }],
    ['unknown fields', { coupon: 'X', ...address({ floor: 3 }) }],
  ])('a checkout may have %s', async (_, more) => {
    expect((await sendCart(app, [[listing, 1]], more)).status).toBe(201)
  })

  it('a checkout may write integers with a decimal point', async () => {
    const body = { buyer: BUYER, lines: [{ listing_id: listing, quantity: 2 }] }
    const payload = JSON.stringify(body).replace(/(\d)([,}\]])/g, '$1.0$2')
    expect(payload).toContain(`{"listing_id":${listing}.0,"quantity":2.0}`)
    const sold = await unitsSoldBy(async () => {
      const headers = { 'content-type': 'application/json' }
      const { status } = await app.operator.post('/operator/v1/checkouts', { payload, headers })
      expect(status).toBe(201)
    })
    expect(sold).toBe(2)
  })

  const shownAddress = async (more: object) => {
    const { orderIds } = await buy(app, [[listing, 1]], more)
    const { buyer } = await sliceOf(seller, orderIds[0]!)
    expect(buyer.name).toBe(BUYER.name)
    return buyer.address
  }

  it('a checkout stores every field of the address unchanged', async () => {
    expect(await shownAddress({})).toEqual(ADDRESS)
  })

  it('the country of an address is shown in the capitals of ISO codes', async () => {
    expect(await shownAddress(address({ country: 'be' }))).toEqual({ ...ADDRESS, country: 'BE' })
  })

  it.each([
    ['null', { house_number_suffix: null, phone: null }],
    ['empty', { house_number_suffix: '', phone: '' }],
    ['blank', { house_number_suffix: ' ', phone: ' ' }],
    ['absent', { house_number_suffix: undefined, phone: undefined }],
  ])(
    'house_number_suffix and phone of an address may be %s and are shown as null',
    async (_, more) => {
      expect(await shownAddress(address(more))).toEqual({
        ...ADDRESS,
        house_number_suffix: null,
        phone: null,
      })
    },
  )

  it('unknown fields of an address are not stored', async () => {
    expect(await shownAddress(address({ floor: 3, id: 7 }))).toEqual(ADDRESS)
  })

  it.each([
    ['null', null],
    ['absent', undefined],
  ])('the address of a checkout may be %s', async (_, none) => {
    expect(await shownAddress({ address: none })).toBeNull()
  })
})

describe('an Idempotency-Key on POST /operator/v1/checkouts', () => {
  let keys = 0
  const newKey = () => ({ 'idempotency-key': `sale-${++keys}` })
  const sell = (headers: Record<string, string>, quantity = 1, of = listing) =>
    sendCart(app, [[of, quantity]], {}, headers)

  it('a repeated Idempotency-Key returns the first checkout byte for byte, without another sale or event', async () => {
    const shop = await app.seller({ account: shipsBy(PARCEL) })
    const [own] = await list(shop, cardItem())
    const headers = newKey()
    const first = await sell(headers, 2, own)
    expect(first.status).toBe(201)
    for (let i = 0; i < 3; i++) {
      const again = await sell(headers, 2, own)
      expect([again.status, again.text]).toEqual([201, first.text])
      expect(again.headers['content-type']).toBe(first.headers['content-type'])
    }
    expect(await listed(shop, own!)).toMatchObject({ quantity: 1 })
    expect((await shop.get('/v1/orders')).body.meta.total).toBe(1)
    expect(await eventsOf(app, shop.accountId)).toHaveLength(2)
  })

  it('a repeated Idempotency-Key returns the first checkout although shop, order and listing have changed', async () => {
    const shop = await app.seller({ account: shipsBy(PARCEL) })
    const [own] = await list(shop, cardItem({ quantity: 1 }))
    const headers = newKey()
    const first = await sell(headers, 1, own)
    expect((await sell(headers, 1, own)).text).toBe(first.text)
    await app.operator.post(
      `/operator/v1/orders/${first.body.data.slices[0].order_ids[0]}/cancel`,
      { payload: { cancelled_by: 'system' } },
    )
    await shop.delete(`/v1/listings/${own}`)
    await changeAccount(app, shop.accountId, { shipping_options: [] })
    expect((await sell(headers, 1, own)).text).toBe(first.text)
  })

  it('a checkout’s Idempotency-Key with another body gets a 422 and sells nothing', async () => {
    const headers = newKey()
    await sell(headers)
    const sold = await unitsSoldBy(async () => {
      for (const lines of [
        [[listing, 2]],
        [
          [listing, 1],
          [listing, 1],
        ],
      ] as Line[][]) {
        const { status, body } = await sendCart(app, lines, {}, headers)
        expect([status, body.error.type]).toEqual([422, 'validation_error'])
        expect(body.error.fields).toEqual({ 'Idempotency-Key': [expect.any(String)] })
      }
      const { status } = await sendCart(app, [[listing, 1]], buyer({ name: 'Brock' }), headers)
      expect(status).toBe(422)
    })
    expect(sold).toBe(0)
  })

  it('the Idempotency-Key of a checkout refused with 409 can be used again', async () => {
    const own = await stock(1)
    const headers = newKey()
    expect((await sell(headers, 2, own)).status).toBe(409)
    expect((await sell(headers, 2, own)).status).toBe(409)
    await seller.patch(`/v1/listings/${own}`, { payload: { quantity: 2 } })
    expect((await sell(headers, 2, own)).status).toBe(201)
    expect((await sell(headers, 1, own)).status).toBe(422)
  })

  it('concurrent checkouts with one Idempotency-Key make one sale and get one response', async () => {
    const own = await stock(100)
    const headers = newKey()
    const responses = await Promise.all(Array.from({ length: 20 }, () => sell(headers, 1, own)))
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(201))
    expect(new Set(responses.map(({ text }) => text)).size).toBe(1)
    expect(await quantityOf(own)).toBe(99)
  })

  it('concurrent checkouts with one Idempotency-Key in two processes make one sale', async () => {
    const second = await startTestApp({ databaseUrl: app.databaseUrl, settings: NO_LIMITS })
    const own = await stock(100)
    const headers = newKey()
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, i) => sendCart(i % 2 ? app : second, [[own, 1]], {}, headers)),
    )
    expect(new Set(responses.map(({ text }) => text)).size).toBe(1)
    expect(await quantityOf(own)).toBe(99)
  })

  it('concurrent checkouts with one Idempotency-Key: a failed one does not block a valid one', async () => {
    const own = await stock(1)
    const headers = newKey()
    const responses = await Promise.all([1, 2, 2, 1].map((wanted) => sell(headers, wanted, own)))
    const sold = responses.filter(({ status }) => status === 201)
    expect(new Set(sold.map(({ text }) => text)).size).toBe(1)
    for (const { status } of responses) expect(status).toBeOneOf([201, 409, 422])
    expect(await quantityOf(own)).toBe(0)
  })

  it('checkouts without an Idempotency-Key, or with different ones, all sell', async () => {
    expect(await unitsSoldBy(() => Promise.all([sell({}), sell({}), sell(newKey())]))).toBe(3)
  })
})
