import { beforeAll, describe, expect, it } from 'vitest'
import type { Client, TestApp } from '../../test/app.ts'
import { startTestApp } from '../../test/app.ts'
import { mismatchesOf } from '../../test/described-responses.ts'
import {
  cardItem,
  changeAccount,
  list,
  NO_LIMITS,
  productItem,
} from '../../test/fixtures/listings.ts'
import { call as callAt, message, post, REVISION, send } from '../../test/fixtures/mcp.ts'
import { grantAccess } from '../../test/fixtures/oauth.ts'
import { act, buy, LABEL, LETTER, PARCEL, shipsBy } from '../../test/fixtures/orders.ts'
import { untilLockWaiters, whileLocked } from '../../test/lock-waiters.ts'
import { components } from '../schema.ts'
import { accountTools } from './account-tools.ts'
import { browsingTools, catalogTools } from './catalog-tools.ts'
import { listingTools } from './listing-tools.ts'
import { moneyTools } from './money-tools.ts'
import { orderTools } from './order-tools.ts'
import type { Tool } from './tool.ts'

let app: TestApp
let seller: Client & { accountId: number }
let token: string
/** Listings of the shop: two cards and a product. */
let listings: number[]
/** A shipped and disputed order, one whose label the service sells, and a received one. */
let disputed: number
let labelled: number
let received: number

beforeAll(async () => {
  app = await startTestApp({
    template: 'fixture',
    settings: { ...NO_LIMITS, MCP_PUBLIC_RATE: '100000', CARRIER: 'simulated' },
  })
  seller = await app.seller({ account: shipsBy(PARCEL, LETTER, LABEL) })
  token = await grantAccess(app, seller.accountId)
  listings = await list(
    seller,
    cardItem({ description: 'sleeved' }),
    cardItem({ price: 3, condition: 'LP', language: 'DE' }),
    productItem({ quantity: 9 }),
  )
  await list(await app.seller({ account: shipsBy(PARCEL) }), cardItem({ price: 2.5 }))
  const sell = async (shipping: string, ...lines: [number, number][]) => {
    const more = { shipping: [{ account_id: seller.accountId, option: shipping }] }
    return (await buy(app, lines, more)).orderIds[0]!
  }
  disputed = await sell('letter', [listings[0]!, 1])
  labelled = await sell('label', [listings[1]!, 1], [listings[2]!, 1])
  received = await sell('letter', [listings[2]!, 1])
  for (const order of [disputed, received]) await seller.post(`/v1/orders/${order}/ship`)
  await act(app, disputed, 'dispute', { reason: 'not_as_described', message: 'It is bent.' })
  await act(app, received, 'receive')
  await seller.post('/v1/webhooks', {
    payload: { url: 'https://shop.example/hook', events: ['order.created'] },
  })
})

const call = (name: string, args: object = {}) => callAt(app, '/mcp/seller', name, args, { token })

const get = async (path: string) => (await seller.get(path)).body

/** Removes the fields from each record of a list. */
const less = <Row extends object>(rows: Row[], ...fields: string[]) =>
  rows.map((row) =>
    Object.fromEntries(Object.entries(row).filter(([key]) => !fields.includes(key))),
  )

const withoutNulls = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, inner) => inner ?? undefined))

// biome-ignore lint/suspicious/noExplicitAny: bodies of responses
type Body = any

const line = (set: Body) => set && { id: set.id, name: set.name, language: set.language }

const pageOf = ({ meta }: Body) => ({
  total: meta.total,
  page: meta.current_page,
  pages: meta.last_page,
})

/** A tool with arguments, the call of an API that it is as, and the result that follows from that call's body. */
const READS: [string, object, () => string, (body: Body) => object][] = [
  [
    'search_cards',
    { q: 'charizard', per_page: 2, page: 2 },
    () => '/v1/cards?q=charizard&per_page=2&page=2',
    (body) => ({
      data: body.data.map(({ id, friendly_id, name, number, rarity, set }: Body) => {
        return { id, friendly_id, name, number, rarity, set: line(set) }
      }),
      meta: pageOf(body),
    }),
  ],
  ['get_card', { card: 'obf_125' }, () => '/v1/cards/obf_125', (body) => body],
  [
    'get_card',
    { card: 'brs_1', language: 'DE' },
    () => '/v1/cards/brs_1?language=DE',
    (body) => body,
  ],
  [
    'search_products',
    { set: 'obf' },
    () => '/v1/products?set=obf&per_page=20',
    (body) => ({
      data: body.data.map((product: Body) => ({ ...product, set: line(product.set) })),
      meta: pageOf(body),
    }),
  ],
  [
    'list_offers',
    { card: 'sv3-125', condition: 'NM', limit: 1 },
    () => '/v1/cards/sv3-125?include=listings',
    ({ data }) => {
      const matching = data.listings.filter(({ condition }: Body) => condition === 'NM')
      return {
        data: matching.slice(0, 1),
        total: matching.length,
        lowest_price: matching[0].price,
      }
    },
  ],
  [
    'list_offers',
    { product: 'obsidian-flames-booster-box' },
    () => '/v1/products/obsidian-flames-booster-box?include=listings',
    ({ data: { listings } }) => {
      return { data: listings, total: listings.length, lowest_price: listings[0].price }
    },
  ],
  ['list_series', {}, () => '/v1/series', (body) => body],
  [
    'search_sets',
    { series: 'swsh', language: 'EN' },
    () => '/v1/sets?series=swsh&language=EN&per_page=20',
    (body) => ({ data: less(body.data, 'logo_url', 'symbol_url'), meta: pageOf(body) }),
  ],
  [
    'get_product',
    { product: 'obsidian-flames-booster-box' },
    () => '/v1/products/obsidian-flames-booster-box',
    (body) => body,
  ],
  [
    'get_account',
    {},
    () => '/v1/me',
    ({ data: { key_prefix, last_used_at, ...account } }) => ({
      ...account,
      last_used_at: expect.any(String),
      payout_verified: true,
      ships: true,
      warnings: [],
    }),
  ],
  [
    'list_webhooks',
    {},
    () => '/v1/webhooks',
    ({ data }) => ({ data: data.map((each: Body) => ({ ...each, failure_reason: null })) }),
  ],
  [
    'list_listings',
    { status: 'active', per_page: 2 },
    () => '/v1/listings?status=active&per_page=2',
    (body) => ({ data: less(body.data, 'seller'), meta: pageOf(body) }),
  ],
  [
    'list_orders',
    { since: '2020-01-01' },
    () => '/v1/orders?since=2020-01-01&per_page=20',
    (body) => ({ data: withoutNulls(body.data), meta: pageOf(body) }),
  ],
  [
    'get_order',
    {},
    () => `/v1/orders/${labelled}`,
    ({ data }) => ({ data: { ...data, buyer: { ...data.buyer, address: null } } }),
  ],
  ['get_order', { include_address: true }, () => `/v1/orders/${labelled}`, (body) => body],
  [
    'list_disputes',
    { state: 'open' },
    () => '/tools/v1/disputes?state=open&per_page=20',
    (body) => ({ data: body.data, meta: pageOf(body) }),
  ],
  [
    'list_payouts',
    {},
    () => '/tools/v1/payouts?per_page=20',
    (body) => ({ data: body.data, meta: pageOf(body) }),
  ],
]

const ofOrder = (name: string, args: object) =>
  name === 'get_order' ? { order: labelled, ...args } : args

const pathOf = (name: string) =>
  browsingTools.some((tool) => tool.name === name) ? '/mcp' : '/mcp/seller'

/** The arguments that reading tools need, by their names. */
const requiredToRead = (): Record<string, object> => ({
  get_card: { card: 'sv3-125' },
  get_order: { order: labelled },
  get_product: { product: 'obsidian-flames-booster-box' },
  get_statement: { month: app.ctx.now().toISOString().slice(0, 7) },
  list_offers: { card: 'sv3-125' },
})

describe('tools and their API calls', () => {
  it.each(READS)('%s %j returns what its API call returns', async (name, args, url, expected) => {
    const sent = pathOf(name) === '/mcp' ? {} : { token }
    const { object, isError } = await callAt(app, pathOf(name), name, ofOrder(name, args), sent)
    expect(object).toEqual(expected(await get(url())))
    expect(isError).toBeUndefined()
  })

  it('an empty text in an optional field of a reading tool counts as absent, as an empty parameter does', async () => {
    const required = requiredToRead()
    for (const path of ['/mcp', '/mcp/seller']) {
      const sent = path === '/mcp' ? {} : { token }
      const { body } = await send(app, path, 'tools/list', {}, sent)
      for (const { name, inputSchema, annotations } of body.result.tools) {
        if (!annotations.readOnlyHint) continue
        const texts = Object.entries<Body>(inputSchema.properties ?? {})
          .filter(([, { type }]) => type === 'string')
          .map(([field]) => [field, ''])
        const args = required[name] ?? {}
        const empty = { ...Object.fromEntries(texts), ...args }
        // The time of this use of the key differs between two calls.
        const timeless = ({ last_used_at, ...object }: Body) => object
        const { object } = await callAt(app, path, name, empty, sent)
        expect(object.error, name).toBeUndefined()
        const without = (await callAt(app, path, name, args, sent)).object
        expect(timeless(object), name).toEqual(timeless(without))
      }
    }
  })

  it('an empty text in a required field, or in a tool that writes, is what the tool gets', async () => {
    const card = await call('get_card', { card: '' })
    expect(card.object.error.type).toBe('not_found')
    const key = await call('create_listings', { items: [cardItem()], idempotency_key: '' })
    expect(key.object.error.fields).toHaveProperty('idempotency_key')
    const [listing] = await list(seller, cardItem({ description: 'sleeved' }))
    const changed = await call('change_listing', { listing, description: '' })
    expect(changed.object.data.description).toBeNull()
    await call('delete_listing', { listing })
  })

  it('null in any optional field of a tool counts as absent', async () => {
    const required: Record<string, object> = {
      ...requiredToRead(),
      create_listings: { items: [cardItem()], preview: true },
      change_listing: { listing: listings[0], price: 4.5 },
      ship_order: { order: received },
      answer_dispute: { order: received, dispute_id: 1, message: 'x' },
      delete_listing: { listing: 1e9 },
      buy_label: { order: received },
    }
    for (const path of ['/mcp', '/mcp/seller']) {
      const sent = path === '/mcp' ? {} : { token }
      const { body } = await send(app, path, 'tools/list', {}, sent)
      for (const { name, inputSchema } of body.result.tools) {
        const nulls = Object.keys(inputSchema.properties ?? {}).map((field) => [field, null])
        const args = required[name] ?? {}
        // The times of this use of the key and of a change differ between two calls.
        const timeless = (object: Body) =>
          JSON.parse(
            JSON.stringify(object, (key, value) =>
              ['last_used_at', 'updated_at'].includes(key) ? undefined : value,
            ),
          )
        const filled = { ...Object.fromEntries(nulls), ...args }
        const { object } = await callAt(app, path, name, filled, sent)
        const without = (await callAt(app, path, name, args, sent)).object
        expect(timeless(object), name).toEqual(timeless(without))
      }
    }
    const unnamed = await call('get_card', { card: null })
    expect(unnamed.object.error.fields).toHaveProperty('card')
    const [listing] = await list(seller, cardItem({ description: 'sleeved' }))
    const repriced = await call('change_listing', { listing, price: 5, description: null })
    expect(repriced.object.data).toMatchObject({ price: 5, description: 'sleeved' })
    const emptied = await call('change_listing', { listing, description: '' })
    expect(emptied.object.data.description).toBeNull()
    await call('delete_listing', { listing })
  })

  it('get_statement returns the statement of its API call', async () => {
    const month = app.ctx.now().toISOString().slice(0, 7)
    const { object } = await call('get_statement', { month })
    expect(object).toEqual(await get(`/tools/v1/statements/${month}`))
  })

  it('get_sales returns the figures of the dashboard’s overview', async () => {
    const member = await app.member(seller.accountId)
    const { body } = await member.get('/dashboard/api/overview')
    const { object } = await call('get_sales')
    const figures = ({ paid_out, ...others }: Body) => others
    expect(object).toEqual({
      days: body.data.sales.days.map(figures),
      total: figures(body.data.sales.total),
    })
  })

  it('create_listings previews without writing, lists once per key and says so, and fails item by item', async () => {
    const items = [
      cardItem({ price: 7.005 }),
      cardItem({ card: 'brs_1' }),
      productItem(),
      { card: 'sv3-125', colour: 'red' },
    ]
    const before = (await get('/v1/listings')).meta.total
    const preview = (await call('create_listings', { items, preview: true })).object
    const checks = (await seller.post('/tools/v1/listings/checks', { payload: { items } })).body
    expect(preview).toMatchObject({ created: 0, failed: 2 })
    expect(preview.warnings).toEqual(['Unknown fields: items.3.colour.'])
    for (const [index, { status, item, errors, candidates }] of preview.results.entries()) {
      const { image, ...found } = checks.data[index].item ?? {}
      const expected = { ...checks.data[index], ...(image === undefined ? {} : { item: found }) }
      expect({ item, errors, candidates }).toEqual(expected)
      expect(status).toBe(errors ? 'failed' : 'would_create')
    }
    expect((await get('/v1/listings')).meta.total).toBe(before)

    const missing = await call('create_listings', { items })
    expect(missing.object.error.fields).toHaveProperty('idempotency_key')
    const key = { items, idempotency_key: 'stock of monday' }
    const [first, again] = [await call('create_listings', key), await call('create_listings', key)]
    const api = await seller.post('/v1/listings', { payload: { items } })
    const withoutIds = (body: Body) => ({
      ...body,
      warnings: undefined,
      results: body.results.map(({ listing, ...rest }: Body) => {
        return { ...rest, listing: listing && { ...listing, id: 0 } }
      }),
    })
    expect(withoutIds(first.object)).toEqual(withoutIds(api.body))
    const [repeated, ...others] = again.object.warnings
    expect(repeated).toMatch(/nothing was listed now/)
    expect({ ...again.object, warnings: others }).toEqual(first.object)
    expect((await get('/v1/listings')).meta.total).toBe(before + 2 + 2)
    const other = await call('create_listings', { ...key, items: [productItem()] })
    const message = 'This idempotency_key was used for another request.'
    expect(other.object.error).toEqual({
      type: 'validation_error',
      message,
      fields: { idempotency_key: [message] },
    })
  })

  it('change_listing and delete_listing do what PATCH and DELETE do', async () => {
    const [id] = await list(seller, cardItem())
    const changed = await call('change_listing', { listing: id, price: 9.5, status: 'hidden' })
    expect(changed.object.data).toMatchObject({ price: 9.5, status: 'hidden' })
    const read = (await get('/v1/listings?status=hidden')).data
    expect(changed.object.data).toEqual(read[0])
    const refused = await call('change_listing', { listing: id, price: 0 })
    const patched = await seller.patch(`/v1/listings/${id}`, { payload: { price: 0 } })
    expect(refused.object).toEqual(patched.body)
    expect((await call('delete_listing', { listing: id })).object).toEqual({ deleted: true })
    const gone = await call('delete_listing', { listing: id })
    expect(gone.object).toEqual((await seller.delete(`/v1/listings/${id}`)).body)
  })

  it('change_listing adds units to the stock that sales have left, or takes them', async () => {
    const [listing] = (await list(seller, cardItem({ quantity: 3 }))) as [number]
    const change = async (changes: object) =>
      (await call('change_listing', { listing, ...changes })).object
    await buy(app, [[listing, 1]])
    const more = await change({ quantity_delta: 2, price: 4 })
    expect(more.data).toMatchObject({ quantity: 4, price: 4 })
    expect(more.data).toEqual((await get('/v1/listings')).data[0])
    expect((await change({ quantity_delta: -4 })).data).toMatchObject({ status: 'sold' })
    for (const refused of [{ quantity_delta: -1 }, { quantity_delta: 1, quantity: 1 }]) {
      expect((await change(refused)).error.fields).toHaveProperty('quantity_delta')
    }
    await call('delete_listing', { listing })
  })

  it('after an unknown outcome, a tool says to read the record before a repetition, unless it is announced as idempotent', async () => {
    const { body } = await send(app, '/mcp/seller', 'tools/list', {}, { token })
    const idempotent = body.result.tools.filter(
      ({ annotations }: Body) => annotations.idempotentHint,
    )
    expect(idempotent.map(({ name }: Body) => name)).toEqual(['create_listings', 'buy_label'])

    const [listing] = (await list(seller, cardItem())) as [number]
    const { db } = app.ctx
    const { isError, object } = await whileLocked(
      app.ctx,
      (db) => db`select from listings where id = ${listing} for update`,
      async () => {
        const changing = call('change_listing', { listing, quantity: 2 })
        await untilLockWaiters(db)
        await db`
          select pg_cancel_backend(pid)
          from pg_stat_activity
          where
            datname = current_database()
            and wait_event_type = 'Lock'
            and wait_event <> 'object'
        `
        return changing
      },
    )
    expect(isError).toBe(true)
    expect(object.error).toEqual({
      type: 'service_unavailable',
      message: 'The change may have been made. Read the record before you repeat the call.',
    })
    await call('delete_listing', { listing })
  })

  it('change_listing judges a price by all of its digits, as PATCH does', async () => {
    const [listing] = await list(seller, cardItem())
    const name = 'change_listing'
    const change = async (written: string) => {
      const sent = message('tools/call', { name, arguments: { listing, price: 'PRICE' } })
      const text = JSON.stringify(sent).replace('"PRICE"', written)
      const headers = {
        'mcp-protocol-version': REVISION,
        'mcp-method': 'tools/call',
        'mcp-name': name,
      }
      const { body } = await post(app, '/mcp/seller', text, { token, headers })
      return body.result
    }
    const changed = await change('1.00499999999999999')
    expect(changed.structuredContent.data.price).toBe(1)
    const refused = await change('99999.990000000001')
    expect(JSON.parse(refused.content[0].text).error.fields).toHaveProperty('price')
    await seller.delete(`/v1/listings/${listing}`)
  })

  it('buy_label buys one label, and links to the PDF that the API links to', async () => {
    const { object, content } = await call('buy_label', { order: labelled })
    const { body } = await seller.post(`/v1/orders/${labelled}/label`)
    const { order, label_url, expires_at, ...label } = body.data
    expect(object).toMatchObject(label)
    expect(content[1]).toMatchObject({ type: 'resource_link', uri: object.label_url })
    const pdf = await app.app.inject(
      new URL(object.label_url).pathname + new URL(object.label_url).search,
    )
    expect(pdf.headers['content-type']).toBe('application/pdf')
  })

  it('ship_order ships all rows of the parcel, without showing the address', async () => {
    const { object } = await call('ship_order', { order: labelled })
    const { data } = await get(`/v1/orders/${labelled}`)
    expect(object).toEqual({
      data: { ...data, buyer: { ...data.buyer, address: null } },
      shipped_lines: 2,
    })
    const again = await call('ship_order', { order: labelled })
    expect(again.object).toEqual((await seller.post(`/v1/orders/${labelled}/ship`)).body)
  })

  it('answer_dispute answers once, and only the dispute that it names', async () => {
    const [{ id: read }] = (await call('list_disputes', { order_id: disputed })).object.data
    const message = 'It left my house straight.'
    const unnamed = await call('answer_dispute', { order: disputed, message })
    expect(unnamed.object.error.fields).toHaveProperty('dispute_id')
    await act(app, disputed, 'resolve', { in_favour_of: 'seller' })
    await act(app, disputed, 'dispute', { reason: 'other', message: 'It never came.' })
    const late = await call('answer_dispute', { order: disputed, dispute_id: read, message })
    expect(late.object.error.type).toBe('conflict')

    const [{ id }] = (await call('list_disputes', { order_id: disputed })).object.data
    const answer = { order: disputed, dispute_id: id, message }
    const { object } = await call('answer_dispute', answer)
    expect(object.data).toMatchObject({ state: 'answered', answer: { message: answer.message } })
    expect(object.data).toEqual((await get('/tools/v1/disputes')).data[0])
    const again = await call('answer_dispute', answer)
    expect(again.object.error.type).toBe('conflict')
  })

  it('no tool sees records of another shop', async () => {
    const stranger = await grantAccess(app, (await app.seller()).accountId)
    for (const [name, args] of [
      ['get_order', { order: labelled }],
      ['buy_label', { order: labelled }],
      ['ship_order', { order: labelled }],
      ['answer_dispute', { order: disputed, dispute_id: 1, message: 'x' }],
      ['change_listing', { listing: listings[0], price: 1 }],
      ['delete_listing', { listing: listings[0] }],
    ] as const) {
      const { object } = await callAt(app, '/mcp/seller', name, args, { token: stranger })
      expect(object.error?.type, name).toBe('not_found')
    }
    for (const name of ['list_listings', 'list_orders', 'list_disputes', 'list_payouts']) {
      const { object } = await callAt(app, '/mcp/seller', name, {}, { token: stranger })
      expect(object.data, name).toEqual([])
    }
  })

  it('no secret of an endpoint’s URL passes through a conversation', async () => {
    const shop = await app.seller()
    const token = await grantAccess(app, shop.accountId)
    const url = 'https://ash:hush@shop.example/hook?token=hush'
    await shop.post('/v1/webhooks', { payload: { url, events: ['order.created'] } })
    const { object } = await callAt(app, '/mcp/seller', 'list_webhooks', {}, { token })
    expect(object.data).toMatchObject([{ url: 'https://shop.example/hook', active: true }])
    expect(JSON.stringify(object)).not.toContain('hush')
  })

  it('a shop that cannot sell yet learns why before it lists', async () => {
    const { accountId } = await app.seller({ account: { payoutVerified: false } })
    const token = await grantAccess(app, accountId)
    const tool = (name: string, args: object) => callAt(app, '/mcp/seller', name, args, { token })
    const { warnings } = (await tool('get_account', {})).object
    expect(warnings).toEqual([
      expect.stringMatching(/payout setup/),
      expect.stringMatching(/No shipping option/),
    ])
    const items = [cardItem()]
    expect((await tool('create_listings', { items, preview: true })).object.warnings).toEqual(
      warnings,
    )
    const refused = await tool('create_listings', { items, idempotency_key: 'a' })
    expect(refused.object.error.type).toBe('authorization_error')
  })

  it('a shop on holiday learns before and after it lists that buyers do not see its offers', async () => {
    const shop = await app.seller({ account: shipsBy(PARCEL) })
    const token = await grantAccess(app, shop.accountId)
    const warningsOf = async (name: string, args: object = {}) =>
      (await callAt(app, '/mcp/seller', name, args, { token })).object.warnings
    const items = [cardItem()]
    const listed = { items, idempotency_key: 'a' }
    await shop.put('/tools/v1/holiday', { payload: { on: true } })
    const warnings = [expect.stringMatching(/on holiday/)]
    expect(await warningsOf('get_account')).toEqual(warnings)
    expect(await warningsOf('create_listings', { items, preview: true })).toEqual(warnings)
    expect(await warningsOf('create_listings', listed)).toEqual(warnings)
    await shop.put('/tools/v1/holiday', { payload: { on: false } })
    expect(await warningsOf('get_account')).toEqual([])
    expect(await warningsOf('create_listings', { items, preview: true })).toBeUndefined()
    expect(await warningsOf('create_listings', listed)).toEqual([
      expect.stringMatching(/nothing was listed now/),
    ])
  })
})

/** The fields of a schema by their paths, with those of its lists and alternatives. */
const fieldsIn = (schema: Body, path: string): [string, Body][] => [
  ...Object.entries<Body>(schema.properties ?? {}).flatMap(([name, field]): [string, Body][] => [
    [`${path}.${name}`, field],
    ...fieldsIn(field, `${path}.${name}`),
  ]),
  ...[schema.items ?? [], schema.anyOf ?? [], schema.oneOf ?? [], schema.allOf ?? []]
    .flat()
    .flatMap((inner: Body) => fieldsIn(inner, path)),
]

describe('the size of results', () => {
  const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value))

  it('tools/list has at most 24 KB, and every tool and every field of its input, at each level, is described', async () => {
    const { body, text } = await send(app, '/mcp/seller', 'tools/list', {}, { token })
    expect(Buffer.byteLength(text)).toBeLessThan(24_000)
    expect(body.result).toMatchObject({ ttlMs: 3_600_000, cacheScope: 'public' })
    const publicTools = (await send(app, '/mcp', 'tools/list')).body.result.tools
    const undescribed: string[] = []
    for (const each of [...body.result.tools, ...publicTools]) {
      const { name, description, inputSchema, annotations } = each
      expect(description, name).toBeTruthy()
      expect(inputSchema.additionalProperties, name).toBe(false)
      expect(Object.keys(annotations)).toContain('readOnlyHint')
      const fields = fieldsIn(inputSchema, name)
      undescribed.push(...fields.filter(([, field]) => !field.description).map(([path]) => path))
    }
    expect(undescribed).toEqual([])
    expect(text).not.toMatch(/storable|singleLine|"\$ref"|x-items|"maximum":\d{10}|patternProp/)
  })

  it('the descriptions of the tools say what an amount includes, that buy_label does not ship, that times without an offset are UTC, and where the latest change of a listing is', async () => {
    const { body } = await send(app, '/mcp/seller', 'tools/list', {}, { token })
    const listed = new Map<string, Body>(body.result.tools.map((each: Body) => [each.name, each]))
    for (const [name, sentence] of [
      ['list_orders', '`price` is per unit'],
      ['list_orders', 'list_payouts has what is paid'],
      ['get_order', 'before cancellations and refunds'],
      ['buy_label', 'ship_order does'],
    ] as const) {
      expect(listed.get(name).description).toContain(sentence)
    }
    const times = [
      listed.get('list_orders').inputSchema.properties.since,
      listed.get('list_listings').inputSchema.properties.updated_since,
    ]
    for (const { description } of times) expect(description).toContain('UTC without an offset')
    expect(times[1].description).toContain('the last page has the latest')
  })

  it('a result that would be larger than 64 KB shrinks, and says how to go on or that it was cut', async () => {
    const { accountId, ...large } = await app.seller({ account: shipsBy(PARCEL) })
    const token = await grantAccess(app, accountId)
    const tool = async (name: string, args: object) => {
      const { object, ...result } = await callAt(app, '/mcp/seller', name, args, { token })
      expect(bytes(result), name).toBeLessThanOrEqual(64 * 1024)
      return object
    }
    const description = '€'.repeat(1000)
    const stock = await list(large, ...Array(50).fill(cardItem({ description, quantity: 5 })))
    const first = await tool('list_listings', { per_page: 50 })
    const { per_page, pages } = first.meta
    expect(first.data).toHaveLength(per_page)
    const ids = new Set<number>()
    for (let page = 1; page <= pages; page++) {
      const { data } = await tool('list_listings', { per_page, page })
      for (const { id } of data) ids.add(id)
    }
    expect(ids.size).toBe(50)
    const offers = await tool('list_offers', { card: 'sv3-125', limit: 50 })
    expect(offers.total).toBeGreaterThanOrEqual(50)
    expect(offers.note).toBe(
      `Only the first ${offers.data.length} of 50 fit here. Filter by condition and language to see others.`,
    )

    const { orderIds } = await buy(
      app,
      stock.map((id) => [id, 1]),
    )
    const order = await tool('get_order', { order: orderIds[0] })
    expect(order.note).toMatch(/of 50 fit here/)
    expect(order.data.totals.merchandise).toBe(225)

    const long = '€'.repeat(4000)
    await tool('ship_order', { order: orderIds[0], tracking_code: 'CODE' })
    await act(app, orderIds[0]!, 'dispute', { reason: 'other', message: long })
    const [{ id }] = (await tool('list_disputes', {})).data
    const answered = await tool('answer_dispute', {
      order: orderIds[0],
      dispute_id: id,
      message: long,
      photo_urls: Array(10).fill(`https://photos.example/${'x'.repeat(2000)}`),
    })
    const listed = await tool('list_disputes', {})
    for (const { note, dispute } of [
      { note: answered.note, dispute: answered.data },
      { note: listed.note, dispute: listed.data[0] },
    ]) {
      expect(note).toMatch(/end early/)
      expect(dispute.state).toBe('answered')
      expect(long).toContain(dispute.message.replace('…', ''))
    }

    const hopeless = { card: 'brs_1', price: 'x', photo_urls: Array(10).fill('ftp://x') }
    const failed = await tool('create_listings', {
      items: Array(100).fill(hopeless),
      preview: true,
    })
    expect(failed.results).toHaveLength(100)
    const wide = Array(100).fill(cardItem({ card: 'sv3-125', price: 99_999.99, quantity: 999 }))
    const previewed = await tool('create_listings', { items: wide, preview: true })
    expect(previewed.results.at(-1).status).toBe('would_create')
    await tool('get_sales', { from: '2024-01-01', to: '2024-12-31' })
  })
})

/** A schema whose references are those of a document. */
function local(value: Body): Body {
  if (Array.isArray(value)) return value.map(local)
  if (typeof value !== 'object' || value === null) return value
  const { $id, $ref, ...rest } = value
  const at = $ref && `document#/components/schemas/${$ref.slice(0, -1)}`
  const inner = Object.entries(rest).map(([key, value]) => [key, local(value)])
  return { ...Object.fromEntries(inner), ...(at && { $ref: at }) }
}

describe('the outputs', () => {
  it('every result matches the exact schema of its tool', async () => {
    const tools: Tool<never>[] = [
      ...[...catalogTools, ...browsingTools, ...accountTools],
      ...[...listingTools, ...orderTools, ...moneyTools],
    ]
    const schemas = local(Object.fromEntries(components))
    const outputs = local(Object.fromEntries(tools.map(({ name, output }) => [name, output])))
    const mismatch = mismatchesOf({ components: { schemas }, outputs })
    for (const [name, args] of READS) {
      const sent = pathOf(name) === '/mcp' ? {} : { token }
      const { object } = await callAt(app, pathOf(name), name, ofOrder(name, args), sent)
      if (name === 'list_orders') continue
      expect(mismatch(`#/outputs/${name}`, object), name).toBeNull()
    }
  })
})

describe('scopes, tokens and limits', () => {
  it('a call without the tool’s scope gets the challenge that asks the seller for it', async () => {
    const token = await grantAccess(app, seller.accountId, { scopes: ['listings:read'] })
    const name = 'change_listing'
    const sent = await send(app, '/mcp/seller', 'tools/call', { name, arguments: {} }, { token })
    expect(sent.status).toBe(403)
    expect(sent.headers['www-authenticate']).toBe(
      'Bearer error="insufficient_scope", scope="listings:write", resource_metadata="https://cards.example/.well-known/oauth-protected-resource/mcp/seller"',
    )
    const { body } = await send(app, '/mcp/seller', 'tools/list', {}, { token })
    expect(body.result.tools.map(({ name }: Body) => name)).toContain(name)
    expect((await callAt(app, '/mcp/seller', 'get_account', {}, { token })).object.scopes).toEqual([
      'listings:read',
    ])
  })

  it('a tool server accepts only tokens for its own address', async () => {
    const status = async (path: string, token?: string) => {
      const { status, headers } = await send(app, path, 'tools/list', {}, { token })
      return [status, headers['www-authenticate']]
    }
    const all = 'catalog:read listings:read listings:write orders:read orders:write webhooks:manage'
    const metadata = 'resource_metadata="https://cards.example/.well-known/oauth-protected-resource'
    expect(await status('/mcp/seller')).toEqual([
      401,
      `Bearer scope="${all}", ${metadata}/mcp/seller"`,
    ])
    const elsewhere = await grantAccess(app, seller.accountId, {
      audience: 'https://cards.example/mcp',
    })
    const { key } = await app.seller()
    for (const wrong of [elsewhere, key, 'nonsense', 'x'.repeat(43)]) {
      const [code, challenge] = await status('/mcp/seller', wrong)
      expect([code, challenge]).toEqual([
        401,
        expect.stringMatching(/^Bearer error="invalid_token"/),
      ])
    }
    expect((await status('/mcp', elsewhere))[0]).toBe(200)
    expect((await status('/mcp', token))[0]).toBe(401)
    expect((await app.withKey(token).get('/v1/me')).status).toBe(401)
  })

  it('a suspended account gets 403 without a challenge', async () => {
    const { accountId } = await app.seller()
    const token = await grantAccess(app, accountId)
    await changeAccount(app, accountId, { api_access: 'suspended' })
    const { status, headers, body } = await send(app, '/mcp/seller', 'tools/list', {}, { token })
    expect([status, body.error.type]).toEqual([403, 'authorization_error'])
    expect(headers['www-authenticate']).toBeUndefined()
  })

  it('reads and writes of a grant have separate limits, shared with no other grant; a refused message is a read', async () => {
    const limited = await startTestApp({
      databaseUrl: app.databaseUrl,
      settings: { RATE_LIMIT_READ: '3', RATE_LIMIT_WRITE: '1' },
      rateLimitTime: () => 1_700_000_000_000,
    })
    const path = '/mcp/seller'
    const erase = (token: string) =>
      callAt(limited, path, 'delete_listing', { listing: 1e9 }, { token })
    expect((await erase(token)).object.error.type).toBe('not_found')
    const { object, isError } = await erase(token)
    expect([isError, object.error.type]).toEqual([true, 'rate_limited'])
    expect(object.error.message).toMatch(/Try again in 40 s/)
    const another = await grantAccess(app, seller.accountId)
    expect((await erase(another)).object.error.type).toBe('not_found')
    const reads = [
      await send(limited, path, 'prompts/list', {}, { token }),
      await post(limited, path, 'no message', { token }),
      await send(limited, path, 'prompts/steal', {}, { token }),
      await send(limited, path, 'prompts/list', {}, { token }),
      await post(limited, path, 'no message', { token }),
    ]
    expect(reads.map(({ status }) => status)).toEqual([200, 400, 404, 429, 429])
  })
})

describe('documents and prompts', () => {
  it('the documents are the guides, and the values are those of the API', async () => {
    const { body } = await send(app, '/mcp/seller', 'resources/list', {}, { token })
    const uris = body.result.resources.map(({ uri }: Body) => uri)
    expect(uris).toEqual([
      ...['orders', 'labels', 'errors', 'sync'].map((name) => `cardstall://docs/${name}`),
      'cardstall://values',
    ])
    const readUri = (uri: string) => send(app, '/mcp/seller', 'resources/read', { uri }, { token })
    const listed = JSON.parse((await readUri('cardstall://values')).body.result.contents[0].text)
    expect(listed).toMatchObject({
      cancelled_by: ['buyer', 'seller', 'admin', 'system'],
      paid_to: ['seller', 'platform'],
    })
    for (const uri of uris) {
      const read = await readUri(uri)
      expect(read.body.result).toMatchObject({ ttlMs: 300_000, cacheScope: 'public' })
      expect(read.body.result.contents[0].text.length).toBeGreaterThan(500)
    }
    const unknown = { uri: 'cardstall://docs/../../package' }
    const refused = await send(app, '/mcp/seller', 'resources/read', unknown, { token })
    expect(refused.body.error.code).toBe(-32602)
  })

  it('the prompts name only tools that exist', async () => {
    const names = new Set(
      [...catalogTools, ...accountTools, ...listingTools, ...orderTools].map(({ name }) => name),
    )
    for (const [name, args] of [
      ['list_stock', { list: '1x Charizard' }],
      ['ship_today', {}],
    ] as const) {
      const { body } = await send(
        app,
        '/mcp/seller',
        'prompts/get',
        { name, arguments: args },
        { token },
      )
      const { text } = body.result.messages[0].content
      for (const [mentioned] of text.matchAll(/\b(search|list|get|create|change|buy|ship)_\w+/g)) {
        if (!['list_stock', 'ship_today'].includes(mentioned)) expect(names).toContain(mentioned)
      }
    }
    const empty = await send(app, '/mcp/seller', 'prompts/get', { name: 'list_stock' }, { token })
    expect(empty.body.error.code).toBe(-32602)
  })
})

describe('the log', () => {
  it('the log has no arguments, results or tokens of tool calls', async () => {
    await call('get_order', { order: labelled, include_address: true })
    await call('search_cards', { q: 'Secret Person of Pallet' })
    const log = JSON.stringify(app.logged)
    expect(log).toContain('/mcp/seller')
    for (const secret of ['Misty', 'Cerulean', 'Secret Person', token]) {
      expect(log).not.toContain(secret)
    }
  })
})
