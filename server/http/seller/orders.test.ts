import { beforeAll, describe, expect, it } from 'vitest'
import type { ShippingOption } from '../../accounts/account.ts'
import { PUBLIC_URL, type Seller, startTestApp, type TestApp } from '../../test/app.ts'
import { idsOf } from '../../test/catalog-fixture.ts'
import {
  advance,
  cardItem,
  gradedItem,
  list,
  NO_LIMITS,
  productItem,
} from '../../test/fixtures/listings.ts'
import {
  ADDRESS,
  act,
  BUYER,
  buy,
  cancel,
  LABEL,
  type Line,
  openShop,
  sellEach,
  ship,
} from '../../test/fixtures/orders.ts'
import { allRecords, walk } from '../../test/walk.ts'

const ORDERS = '/v1/orders'
const LIST = `${PUBLIC_URL}${ORDERS}`
const WHOLE_SECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

/** The fields of an order row (§2.7), in their order. */
const ROW_KEYS = [
  ...['id', 'slice_key', 'checkout_id', 'status', 'quantity', 'price', 'currency'],
  ...['item', 'listing_id', 'tracking', 'financial', 'buyer'],
  ...['created_at', 'shipped_at', 'received_at', 'cancelled_at', 'disputed_at'],
]
const ITEM_KEYS = [
  ...['name', 'subtitle', 'image', 'condition', 'language', 'type', 'id', 'friendly_id'],
]
let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS, rateLimitTime: () => 0 })
})

const shop = (...options: ShippingOption[]) => openShop(app, ...options)
const sell = (seller: Seller, ...items: object[]) => sellEach(app, seller, ...items)

const found = async (seller: Seller, query: string): Promise<number[]> => {
  const { status, body, text } = await seller.get(`${ORDERS}?per_page=100&${query}`)
  expect(status, text).toBe(200)
  expect(body.meta.total).toBe(body.data.length)
  return idsOf(body.data) as never
}

describe('GET /v1/orders', () => {
  it('GET /v1/orders lists only the caller’s order rows, newest first', async () => {
    const [first, second, none] = [await shop(), await shop(), await shop()]
    const [mine, theirs] = [await list(first, cardItem()), await list(second, cardItem())]
    const { slices } = await buy(app, [
      [mine[0]!, 1],
      [theirs[0]!, 1],
    ])
    await advance(app.operator, 2)
    const later = await sell(first, cardItem(), productItem())
    expect(await found(first, '')).toEqual([...later.toReversed(), ...slices[0]!.order_ids])
    expect(await found(second, '')).toEqual(slices[1]!.order_ids)
    expect(await found(none, '')).toEqual([])
  })

  it('GET /v1/orders gives a row exactly the specified fields, without the buyer’s address', async () => {
    const seller = await shop()
    const [listing] = await list(seller, cardItem({ price: 3.35, quantity: 3 }))
    const { id, orderIds, sliceKey } = await buy(app, [[listing!, 3]])
    const { body, text } = await seller.get(ORDERS)
    expect(body.data).toEqual([
      {
        id: orderIds[0],
        slice_key: sliceKey,
        checkout_id: id,
        status: 'pending',
        quantity: 3,
        price: 3.35,
        currency: 'EUR',
        item: {
          name: 'Charizard ex',
          subtitle: 'Obsidian Flames 125',
          image: 'https://images.example/sv3/125.png',
          condition: 'NM',
          language: 'EN',
          type: 'card',
          id: 'sv3-125',
          friendly_id: 'obf_125',
        },
        listing_id: listing,
        tracking: {
          code: null,
          url: null,
          status: null,
          updated_at: null,
          fulfilment: 'self_ship',
        },
        financial: { seller_net: 9.55, seller_fee: 0.5, commission: 0.5, refunded_amount: 0 },
        buyer: { name: BUYER.name },
        created_at: expect.stringMatching(WHOLE_SECONDS),
        shipped_at: null,
        received_at: null,
        cancelled_at: null,
        disputed_at: null,
      },
    ])
    const [row] = body.data
    expect(Object.keys(row)).toEqual(ROW_KEYS)
    expect(Object.keys(row.item)).toEqual(ITEM_KEYS)
    expect(Object.keys(row.tracking)).toEqual(['code', 'url', 'status', 'updated_at', 'fulfilment'])
    expect(Object.keys(row.financial)).toEqual([
      ...['seller_net', 'seller_fee', 'commission', 'refunded_amount'],
    ])
    expect(text).not.toContain(ADDRESS.street)
    expect(text).not.toContain(BUYER.email)
  })

  it('every order row has every field, whatever was sold and happened', async () => {
    const seller = await shop(LABEL)
    const ids = await sell(seller, gradedItem(), productItem(), cardItem({ card: 'ru1-1' }))
    await cancel(app, ids[0]!)
    await ship(seller, ids[1]!)
    await act(app, ids[1]!, 'dispute')
    await act(app, ids[2]!, 'receive')
    const { data } = (await seller.get(ORDERS)).body
    expect(data.map(({ status }: { status: string }) => status)).toEqual([
      ...['received', 'disputed', 'cancelled'],
    ])
    for (const row of data) {
      expect(Object.keys(row)).toEqual(ROW_KEYS)
      expect(Object.keys(row.item)).toEqual(ITEM_KEYS)
      expect(row.tracking.fulfilment).toBe('platform')
      expect(row[`${row.status}_at`]).toMatch(WHOLE_SECONDS)
    }
  })

  it('GET /v1/orders without the scope orders:read returns 403', async () => {
    const writer = await app.seller({ scopes: ['orders:write', 'listings:read'] })
    const { status, body } = await writer.get(`${ORDERS}?status=removed`)
    expect([status, body.error.type]).toEqual([403, 'authorization_error'])
    expect(body.error.message).toContain('orders:read')
    const reader = await app.seller({ scopes: ['orders:read'] })
    expect((await reader.get(ORDERS)).status).toBe(200)
  })

  it('GET /v1/orders works with a trailing slash and as HEAD, each of which counts as a read', async () => {
    const seller = await shop()
    await sell(seller, cardItem())
    const { text, headers } = await seller.get(ORDERS)
    expect((await seller.get(`${ORDERS}/`)).text).toBe(text)
    const head = await seller.head(ORDERS)
    expect([head.status, head.text]).toEqual([200, ''])
    expect(head.headers['x-ratelimit-limit']).toBe(NO_LIMITS.RATE_LIMIT_READ)
    expect(Number(head.headers['x-ratelimit-remaining'])).toBe(
      Number(headers['x-ratelimit-remaining']) - 2,
    )
  })
})

describe('filters of orders', () => {
  it('GET /v1/orders?status= lists the rows with that current status', async () => {
    const seller = await shop()
    const byStatus: Record<string, number[]> = {}
    for (const status of ['pending', 'shipped', 'received', 'cancelled', 'disputed']) {
      const [id] = await sell(seller, cardItem())
      if (status === 'cancelled') await cancel(app, id!)
      else if (status !== 'pending') await ship(seller, id!, { tracking_code: 'X' })
      if (status === 'received') await act(app, id!, 'receive')
      if (status === 'disputed') await act(app, id!, 'dispute')
      byStatus[status] = [id!]
    }
    for (const [status, ids] of Object.entries(byStatus)) {
      expect(await found(seller, `status=${status}`)).toEqual(ids)
    }
    expect(await found(seller, 'status=')).toHaveLength(5)
    expect(await found(seller, 'status=pending&status=shipped')).toEqual(byStatus.shipped)
    expect(await found(seller, 'status[]=shipped&buyer=x')).toHaveLength(5)
  })

  it('GET /v1/orders?since= lists rows created at or after that second, in every ISO 8601 spelling', async () => {
    const seller = await shop()
    const made: number[] = []
    for (const moment of ['2026-02-28T23:59:59', '2026-03-01T00:00:00', '2026-03-01T12:00:00']) {
      const [id] = await sell(seller, cardItem())
      await app.ctx.db`update orders set created_at = ${`${moment}Z`} where id = ${id!}`
      made.unshift(id!)
    }
    const [noon, midnight, evening] = made
    const all = [noon, midnight, evening]
    for (const [since, ids] of [
      ['2026-02-28', all],
      ['2026-02-28T23:59:59Z', all],
      ['2026-03-01', [noon, midnight]],
      ['2026-03-01T00:00', [noon, midnight]],
      ['2026-03-01T00:00:00', [noon, midnight]],
      ['2026-03-01T00:00:00.000Z', [noon, midnight]],
      ['2026-03-01 00:00:00', [noon, midnight]],
      ['2026-03-01T01:00:00%2B01:00', [noon, midnight]],
      ['2026-03-01T01:00:00+01:00', [noon, midnight]],
      ['2026-02-28T19:00:00-05:00', [noon, midnight]],
      ['2026-03-01T00:00:00.001Z', [noon]],
      ['2026-03-01T12:00:00Z', [noon]],
      ['2026-03-01T12:00:01Z', []],
      ['2026-03-02', []],
      ['', all],
    ] as const) {
      expect([since, await found(seller, `since=${since}`)]).toEqual([since, ids])
    }
  })

  it('GET /v1/orders?since= accepts the created_at of a row and includes that row', async () => {
    const seller = await shop()
    const [id] = await sell(seller, cardItem())
    const { created_at } = (await seller.get(ORDERS)).body.data[0]
    expect(await found(seller, `since=${created_at}`)).toEqual([id])
  })

  it('GET /v1/orders combines status and since', async () => {
    const seller = await shop()
    const [old] = await sell(seller, cardItem())
    const [newer] = await sell(seller, cardItem())
    const [open] = await sell(seller, cardItem())
    for (const id of [old!, newer!]) await ship(seller, id, { tracking_code: 'X' })
    await app.ctx.db`update orders set created_at = '2026-01-01' where id = ${old!}`
    expect(await found(seller, 'status=shipped&since=2026-02-01')).toEqual([newer])
    expect(await found(seller, 'status=pending&since=2026-02-01')).toEqual([open])
    expect(await found(seller, 'status=disputed&since=2026-02-01')).toEqual([])
  })

  it.each([
    ['status', 'removed'],
    ['status', 'Pending'],
    ['status', 'pending,shipped'],
    ['status', 'open'],
    ['since', 'yesterday'],
    ['since', '2026'],
    ['since', '2026-02-30'],
    ['since', '2026-03-01T25:00'],
    ['since', '1772323200'],
    ['since', '%00'],
    ['page', '0'],
    ['page', '-1'],
    ['page', 'abc'],
    ['page', '1.5'],
    ['page', '1000000001'],
  ])('GET /v1/orders?%s=%s returns 422', async (field, value) => {
    const seller = await shop()
    const { status, body } = await seller.get(`${ORDERS}?${field}=${value}`)
    expect([status, body.error.type]).toEqual([422, 'validation_error'])
    expect(body.error.fields).toEqual({ [field]: [expect.any(String)] })
  })
})

describe('pages of orders', () => {
  let seller: Seller
  /** 45 rows of fifteen checkouts, most of which share their time with another one. */
  let newestFirst: number[]
  let shipped: number[]
  beforeAll(async () => {
    seller = await shop()
    const listings = await list(
      seller,
      ...[1, 2, 3].map((at) => cardItem({ quantity: 99, description: `${at}` })),
    )
    const sales: number[][] = []
    for (let i = 0; i < 15; i++) {
      sales.push(
        (
          await buy(
            app,
            listings.map((id): Line => [id, 1]),
          )
        ).orderIds,
      )
    }
    for (const [id] of [sales[3]!, sales[9]!]) await ship(seller, id!, { tracking_code: 'X' })
    // Times in another order than ids, with ties, which the ids decide.
    for (const [i, ids] of sales.entries()) {
      const moment = new Date(Date.UTC(2026, 0, 1, Math.floor(((i * 7) % 15) / 2)))
      await app.ctx.db`
        update orders set created_at = ${moment} where id = any(${ids}::bigint[])
      `
    }
    const rows = await app.ctx.db<{ id: number; status: string }[]>`
      select id, status
      from orders
      where id = any(${sales.flat()}::bigint[])
      order by created_at desc, id desc
    `
    newestFirst = rows.map(({ id }) => id)
    shipped = rows.filter(({ status }) => status === 'shipped').map(({ id }) => id)
    await sell(await shop(), cardItem(), cardItem(), cardItem())
  })

  it('a page of orders has 30 rows, with links and meta for the whole list', async () => {
    const { body } = await seller.get(ORDERS)
    expect(Object.keys(body)).toEqual(['data', 'links', 'meta'])
    expect(idsOf(body.data)).toEqual(newestFirst.slice(0, 30))
    expect(body.links).toEqual({
      first: `${LIST}?page=1`,
      last: `${LIST}?page=2`,
      prev: null,
      next: `${LIST}?page=2`,
    })
    expect(body.meta).toEqual({
      current_page: 1,
      from: 1,
      last_page: 2,
      path: LIST,
      per_page: 30,
      to: 30,
      total: 45,
    })
  })

  it('the page links of GET /v1/orders carry all parameters that were sent', async () => {
    const { body } = await seller.get(
      `${ORDERS}?page=2&status=shipped&since=2025-01-01T02:00:00%2B02:00&utm=x&per_page=2`,
    )
    const carried = 'status=shipped&since=2025-01-01T02%3A00%3A00%2B02%3A00&utm=x&per_page=2'
    expect(body.links).toEqual({
      first: `${LIST}?${carried}&page=1`,
      last: `${LIST}?${carried}&page=3`,
      prev: `${LIST}?${carried}&page=1`,
      next: `${LIST}?${carried}&page=3`,
    })
    expect(idsOf(body.data)).toEqual(shipped.slice(2, 4))
    expect(body.meta).toMatchObject({ from: 3, to: 4, total: 6 })
  })

  it.each([
    ['0', 1],
    ['500', 100],
    ['abc', 30],
    ['10.7', 10],
    ['', 30],
  ])('GET /v1/orders?per_page=%s returns %i rows', async (perPage, count) => {
    const { body } = await seller.get(`${ORDERS}?per_page=${perPage}`)
    expect(body.meta.per_page).toBe(count)
    expect(idsOf(body.data)).toEqual(newestFirst.slice(0, count))
  })

  it.each([3, 50, 1_000_000_000])(
    'page %i of 45 orders is past the end and empty',
    async (page) => {
      const { status, body } = await seller.get(`${ORDERS}?page=${page}`)
      expect([status, body.data]).toEqual([200, []])
      expect(body.links).toMatchObject({ prev: `${LIST}?page=${page - 1}`, next: null })
      expect(body.meta).toMatchObject({ current_page: page, from: null, to: null, total: 45 })
    },
  )

  it('the orders of a seller without orders are one empty page', async () => {
    const { body } = await (await shop()).get(ORDERS)
    expect(body.links).toEqual({
      first: `${LIST}?page=1`,
      last: `${LIST}?page=1`,
      prev: null,
      next: null,
    })
    expect(body.meta).toMatchObject({ from: null, last_page: 1, to: null, total: 0 })
  })

  it.each([
    ['all', '', () => newestFirst],
    ['shipped ones', '&status=shipped', () => shipped],
    ['all since 2000', '&since=2000-01-01', () => newestFirst],
  ])(
    'paging through orders shows each row once and in order, both ways: %s',
    async (_, query, all) => {
      for (const perPage of [1, 2, 7, 30, 44, 45, 100]) {
        const path = `${ORDERS}?per_page=${perPage}${query}`
        expect(idsOf(await allRecords(seller, path))).toEqual(all())
        const last = Math.ceil(all().length / perPage)
        const back = await walk(seller, `${path}&page=${last}`, 'prev')
        expect(back.toReversed().flatMap(({ body }) => idsOf(body.data))).toEqual(all())
      }
    },
  )
})
