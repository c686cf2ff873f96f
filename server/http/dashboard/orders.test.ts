import { PDFDocument } from '@pdfme/pdf-lib'
import { beforeAll, describe, expect, it } from 'vitest'
import { inTransaction } from '../../database/in-transaction.ts'
import { listSlices, type SliceFilters } from '../../orders/slice-list.ts'
import { type SignedInClient, startTestApp, type TestApp } from '../../test/app.ts'
import { advance, cardItem, list, NO_LIMITS, productItem } from '../../test/fixtures/listings.ts'
import {
  ADDRESS,
  act,
  buy,
  cancel,
  insertSlice,
  insertSlices,
  LABEL,
  LETTER,
  openShop,
  PARCEL,
} from '../../test/fixtures/orders.ts'
import { rowsRead } from '../../test/rows-read.ts'

const ORDERS = '/dashboard/api/orders'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
})

type Shop = Awaited<ReturnType<typeof openShop>>

/** A shop, and a member of it who is signed in. */
async function signedIn(...options: Parameters<typeof openShop>[1][]) {
  const shop = await openShop(app, ...options)
  return { shop, me: await app.member(shop.accountId) }
}

/** Sells one unit of each item to a buyer, and returns the slice. */
async function sell(shop: Shop, buyer = 'Misty', items: object[] = [cardItem()], more = {}) {
  const listings = await list(shop, ...items)
  const lines = listings.map((id): [number, number] => [id, 1])
  const sale = await buy(app, lines, { buyer: { name: buyer, email: 'b@mail.example' }, ...more })
  return { key: sale.sliceKey, orders: sale.orderIds as [number, ...number[]] }
}

const keysOf = async (me: SignedInClient, query = '') => {
  const { status, body, text } = await me.get(`${ORDERS}?${query}`)
  expect(status, text).toBe(200)
  return body.data.map(({ slice_key }: { slice_key: string }) => slice_key)
}

const carrier = (label: string) =>
  app.operator.put('/operator/v1/sandbox/carrier', { payload: { label } })

describe('the list of slices', () => {
  it('a page of slices with a status does not read all rows of a shop that has most of all orders', async () => {
    const { shop } = await signedIn()
    await insertSlices(app.ctx.db, shop.accountId, Array(3_000).fill('Ash'))
    await app.ctx.db`analyze orders`
    const read = (filters: SliceFilters) =>
      inTransaction(app.ctx, (tx) =>
        rowsRead(tx.db, 'orders', () => listSlices(tx, shop.accountId, filters, {}, 30)),
      )
    expect(await read({ status: 'received' })).toBeLessThan(500)
  })

  it('paging through the slices in either direction shows each once, newest first, also with a status', async () => {
    const { shop, me } = await signedIn()
    const sold: string[] = []
    for (let i = 0; i < 8; i++) {
      const { key, orders } = await sell(shop)
      sold.unshift(key)
      // Several slices share their time.
      if (i % 3 === 2) await advance(app.operator, 60)
      if (i === 3) await cancel(app, orders[0])
    }
    for (const [filter, expected] of [
      ['', sold],
      ['status=pending&', sold.filter((_, i) => i !== 4)],
    ] as const) {
      const pages: string[][] = []
      let position: string | null = ''
      while (position !== null) {
        const { body } = await me.get(`${ORDERS}?${filter}per_page=3&${position}`)
        pages.push(body.data.map(({ slice_key }: { slice_key: string }) => slice_key))
        position = body.meta.older && `after=${body.meta.older}`
        if (pages.length === 1) expect(body.meta.newer).toBeNull()
      }
      expect(pages.flat()).toEqual(expected)
      const { body } = await me.get(`${ORDERS}?${filter}per_page=3&before=${pages[2]![0]}`)
      expect(body.data.map(({ slice_key }: { slice_key: string }) => slice_key)).toEqual(pages[1])
      expect(body.meta).toEqual({ newer: pages[1]![0], older: pages[1]!.at(-1) })
    }
  })

  it('slices are filtered by period and by words of the buyer’s name, whatever their case and accents', async () => {
    const { shop, me } = await signedIn()
    const first = await sell(shop, 'Zoë van der Müller-O’Hara')
    await advance(app.operator, 3600)
    const noon = app.ctx.now().toISOString()
    const second = await sell(shop, 'ash.ketchum@pallet town')
    expect(await keysOf(me, `from=${noon}`)).toEqual([second.key])
    // Both ends include their whole second.
    const [slice] = (await me.get(ORDERS)).body.data
    const soldAt = Date.parse(slice.created_at)
    const inSoldSecond = (ms: number) => new Date(soldAt + ms).toISOString()
    expect(await keysOf(me, `from=${inSoldSecond(0)}`)).toEqual([second.key])
    expect(await keysOf(me, `to=${inSoldSecond(0)}`)).toEqual([second.key, first.key])
    expect(await keysOf(me, `to=${inSoldSecond(-1_000)}`)).toEqual([first.key])
    // A date is a whole day of the shop: the sale is before midnight in one time zone and after it in the other.
    await app.ctx.db`
      update slices set created_at = '2020-05-04T23:30:00Z' where slice_key = ${first.key}
    `
    for (const [zone, day] of [
      ['UTC', '2020-05-04'],
      ['Europe/Berlin', '2020-05-05'],
    ] as const) {
      await app.ctx.db`update accounts set time_zone = ${zone} where id = ${shop.accountId}`
      expect(await keysOf(me, `from=${day}&to=${day}`), zone).toEqual([first.key])
      expect(await keysOf(me, 'to=2020-05-03')).toEqual([])
      expect(await keysOf(me, 'from=0001-01-01&to=9999-12-31')).toContain(first.key)
    }
    for (const [text, found] of [
      ['ZOE', [first.key]],
      ['mul der', [first.key]],
      ['hara', [first.key]],
      ['ketch', [second.key]],
      ['uller', []],
      ['zoe ketchum', []],
      ["'!|&:*", []],
    ] as const) {
      expect(await keysOf(me, `buyer=${encodeURIComponent(text)}`), text).toEqual(found)
      expect(await keysOf(me, `status=pending&buyer=${encodeURIComponent(text)}`)).toEqual(found)
    }
  })

  it('a search for a buyer accepts each text of 200 characters, however long its letters are when they are decomposed', async () => {
    const { shop, me } = await signedIn()
    const { key } = await sell(shop, '㌖'.repeat(2))
    for (const [text, found] of [
      ['㌖', [key]],
      ['㌖'.repeat(200), []],
      ['𝒜'.repeat(200), []],
    ] as const) {
      expect(await keysOf(me, `buyer=${encodeURIComponent(text)}`)).toEqual(found)
    }
  })

  it('a search for a buyer finds the same slices as a filter of the whole list, also in a large shop', async () => {
    const { shop, me } = await signedIn()
    const { shop: other } = await signedIn()
    const { db } = app.ctx
    const start = Date.parse('2021-01-01T00:00:00Z')
    const sold: { key: string; name: string; status: string; at: number }[] = []
    const sellTo = async (names: string[], status: string) => {
      const at = start + sold.length * 60_000
      const keys = await insertSlices(db, shop.accountId, names, { from: new Date(at), status })
      const rows = keys.map((key, i) => ({
        key,
        name: names[i]!,
        status,
        at: at + (i + 1) * 60_000,
      }))
      sold.unshift(...rows.toReversed())
    }
    const names = (count: number, of: (index: number) => string) =>
      Array.from({ length: count }, (_, index) => of(index))
    // Gary bought long ago and lately, Erika always, Brock in another shop only.
    const old = (index: number) => ['Gary Oak', 'Erika Mint', 'Gary Mint'][index % 3]!
    await sellTo(names(12, old), 'received')
    await sellTo(names(12, old), 'disputed')
    await sellTo(
      names(2_200, (index) => `${index % 100 ? 'Ash' : 'Erika'} Rose`),
      'received',
    )
    await sellTo(
      names(6, () => 'Gary Rose'),
      'received',
    )
    await insertSlices(
      db,
      other.accountId,
      names(30, () => 'Brock Gary'),
    )

    const begun = new Date(sold.at(-7)!.at).toISOString()
    for (const buyer of ['gary', 'erika', 'mint', 'mint gar', 'ash', 'brock', '!']) {
      for (const filter of ['', '&status=received', '&status=disputed', `&from=${begun}`]) {
        const expected = sold
          .filter(({ status }) => !filter.includes('status') || filter.endsWith(status))
          .filter(({ at }) => !filter.includes('from') || at >= Date.parse(begun))
          .filter(({ name }) =>
            buyer.split(' ').every((word) => ` ${name.toLowerCase()}`.includes(` ${word}`)),
          )
          .map(({ key }) => key)
        const query = `buyer=${buyer}${filter}&per_page=20`
        const first = await me.get(`${ORDERS}?${query}`)
        const keys = first.body.data.map((slice: { slice_key: string }) => slice.slice_key)
        expect({ query, keys }).toEqual({ query, keys: expected.slice(0, 20) })
        expect(first.body.meta.older).toBe(expected.length > 20 ? keys[19] : null)
        for (const index of [1, expected.length - 2].filter((index) => expected[index])) {
          const after = await keysOf(me, `${query}&after=${expected[index]}`)
          const older = expected.slice(index + 1).slice(0, 20)
          expect({ query, index, after }).toEqual({ query, index, after: older })
          const before = await keysOf(me, `${query}&before=${expected[index]}`)
          const newer = expected.slice(0, index).slice(-20)
          expect({ query, index, before }).toEqual({ query, index, before: newer })
        }
      }
    }
    const { body } = await me.get('/dashboard/api/search?q=gary mint')
    expect(body.data.orders).toHaveLength(5)
  })

  it('a line of the list adds up the rows of its slice', async () => {
    const { shop, me } = await signedIn()
    const { orders } = await sell(shop, 'Misty', [
      cardItem({ price: 2.5 }),
      productItem({ price: 9 }),
    ])
    await cancel(app, orders[1]!)
    const { body } = await me.get(ORDERS)
    expect(body.data[0]).toMatchObject({
      order_id: orders[0],
      buyer: { name: 'Misty' },
      statuses: { pending: 1, shipped: 0, received: 0, cancelled: 1, disputed: 0 },
      lines: 2,
      units: 2,
      merchandise: 11.5,
      label: null,
    })
  })

  it('a position outside of the list, a wrong date and an unknown status are refused', async () => {
    const { me } = await signedIn()
    const { shop } = await signedIn()
    const { key } = await sell(shop)
    for (const query of [`after=${key}`, 'before=x', 'from=soon', 'status=lost']) {
      const { status, body } = await me.get(`${ORDERS}?${query}`)
      expect(status).toBe(422)
      expect(Object.keys(body.error.fields)).toEqual([query.split('=')[0]])
    }
  })
})

describe('a slice in the dashboard', () => {
  it('a slice shows its address, its history in order, and the possible actions', async () => {
    const { shop, me } = await signedIn(PARCEL)
    const { orders } = await sell(shop, 'Misty', [cardItem(), productItem()])
    const [first, second] = orders as [number, number]
    const page = async () => (await me.get(`${ORDERS}/${first}`)).body.data
    expect(await page()).toMatchObject({
      buyer: { name: 'Misty', address: ADDRESS },
      actions: {
        ship: { needs_tracking_code: true },
        label: false,
        cancel: orders,
        needs_payout_setup: false,
      },
    })
    await advance(app.operator, 60)
    const cancelled = await me.post(`${ORDERS}/${second}/cancel`, {
      payload: { reason: 'out_of_stock' },
    })
    expect(cancelled.status).toBe(200)
    await advance(app.operator, 60)
    const refused = await me.post(`${ORDERS}/${first}/ship`, { payload: {} })
    expect(refused.body.error.fields.tracking_code).toHaveLength(1)
    await me.post(`${ORDERS}/${first}/ship`, { payload: { tracking_code: '3SABC' } })
    await advance(app.operator, 60)
    await act(app, first, 'dispute')
    await advance(app.operator, 60)
    await act(app, first, 'resolve', { in_favour_of: 'seller' })
    const { timeline, actions } = await page()
    expect(timeline.map(({ at, ...moment }: { at: string }) => moment)).toEqual([
      { kind: 'ordered', orders, by: null, reason: null },
      { kind: 'cancelled', orders: [second], by: 'seller', reason: 'out_of_stock' },
      { kind: 'shipped', orders: [first], by: null, reason: null },
      { kind: 'disputed', orders: [first], by: null, reason: null },
      { kind: 'received', orders: [first], by: null, reason: null },
      { kind: 'resolved', orders: [first], by: null, reason: null },
    ])
    expect(actions).toMatchObject({ ship: null, label: false, cancel: [] })
  })

  it('the history of a slice has its partial refunds, with the reasons of those that the seller bears', async () => {
    const { shop, me } = await signedIn(PARCEL)
    const { orders } = await sell(shop)
    const [order] = orders
    for (const borne_by of ['seller', 'platform']) {
      await advance(app.operator, 60)
      const payload = { amount: 0.5, reason: `Paid by the ${borne_by}`, borne_by }
      await app.operator.post(`/operator/v1/orders/${order}/refund`, { payload })
    }
    const { timeline } = (await me.get(`${ORDERS}/${order}`)).body.data
    expect(timeline.slice(1)).toMatchObject([
      {
        kind: 'refunded',
        orders: [order],
        refund: { amount: 0.5, borne_by: 'seller', reason: 'Paid by the seller' },
      },
      { kind: 'refunded', refund: { amount: 0.5, borne_by: 'platform', reason: null } },
    ])
  })

  it('the history of a row that is disputed again has the last dispute only', async () => {
    const { shop, me } = await signedIn(LETTER)
    const { orders } = await sell(shop)
    const [order] = orders
    await me.post(`${ORDERS}/${order}/ship`)
    const lastMoments = async () => {
      const { timeline } = (await me.get(`${ORDERS}/${order}`)).body.data
      return timeline.slice(2).map(({ kind }: { kind: string }) => kind)
    }
    for (const step of ['dispute', 'resolve', 'dispute'] as const) {
      await advance(app.operator, 60)
      await act(app, order, step, step === 'resolve' ? { in_favour_of: 'seller' } : undefined)
    }
    expect(await lastMoments()).toEqual(['received', 'disputed'])
    await advance(app.operator, 60)
    await cancel(app, order)
    expect(await lastMoments()).toEqual(['received', 'disputed', 'cancelled'])
  })

  it('an action is offered if it would succeed, and only then, in each state of a slice', async () => {
    const platform = await signedIn(LABEL)
    const own = await signedIn(PARCEL)
    type Fate = 'pending' | 'cancel' | 'shipped' | 'receive' | 'dispute'
    type State = {
      /** The last action on each row. */
      fates: Fate[]
      seller?: typeof own
      label?: 'bought' | 'in doubt'
      hasAddress?: boolean
      isVerified?: boolean
    }
    const fates: Fate[][] = [
      ['pending'],
      ['pending', 'cancel'],
      ['cancel'],
      ['shipped'],
      ['shipped', 'cancel'],
      ['receive'],
      ['dispute'],
      ['receive', 'dispute'],
    ]
    const states: State[] = [
      ...fates.map((fates) => ({ fates })),
      { fates: ['pending', 'cancel'], label: 'bought' },
      { fates: ['cancel'], label: 'bought' },
      { fates: ['dispute'], label: 'bought' },
      { fates: ['pending', 'cancel'], label: 'in doubt' },
      { fates: ['pending'], isVerified: false },
      { fates: ['shipped'], isVerified: false },
      { fates: ['pending'], hasAddress: false },
      { fates: ['pending'], seller: own },
      { fates: ['shipped'], seller: own },
    ]
    const verify = ({ accountId }: Shop, payout_verified: boolean) =>
      app.operator.patch(`/operator/v1/accounts/${accountId}`, { payload: { payout_verified } })

    for (const state of states) {
      const { seller: { shop, me } = platform, hasAddress = true, isVerified = true } = state
      const make = async () => {
        if (!isVerified) await verify(shop, true)
        const items = state.fates.map(() => cardItem())
        const { orders } = await sell(shop, 'Misty', items, hasAddress ? {} : { address: null })
        const [first] = orders
        if (state.label) await me.post(`${ORDERS}/${first}/label`)
        if (state.label === 'in doubt') {
          await app.ctx.db`
            update shipments
            set state = 'buying', in_doubt = true, carrier_id = null, status = null,
              bought_at = null, link_nonce = null, link_expires_at = null
            where order_id = ${first}
          `
        }
        const isShipped = state.fates.some((fate) => !['pending', 'cancel'].includes(fate))
        const code = shop === own.shop ? { tracking_code: '3SABC' } : {}
        if (isShipped) await me.post(`${ORDERS}/${first}/ship`, { payload: code })
        for (const [i, fate] of state.fates.entries()) {
          if (fate === 'cancel') await cancel(app, orders[i]!)
          if (fate === 'receive' || fate === 'dispute') await act(app, orders[i]!, fate)
        }
        if (!isVerified) await verify(shop, false)
        const { actions } = (await me.get(`${ORDERS}/${first}`)).body.data
        const attempts = {
          ship: () => me.post(`${ORDERS}/${first}/ship`, { payload: actions.ship ? code : {} }),
          label: () => me.post(`${ORDERS}/${first}/label`),
          cancel: () => me.post(`${ORDERS}/${first}/cancel`, { payload: { reason: 'other' } }),
        }
        const offered = {
          ship: actions.ship !== null,
          label: actions.label as boolean,
          cancel: actions.cancel.includes(first) as boolean,
        }
        return { offered, attempts }
      }
      const names = ['cancel', 'label', 'ship'] as const
      let { offered, attempts } = await make()
      // Refused actions change nothing, so they come first. A label ends the cancellation, and a cancellation the rest.
      for (const name of names.toSorted((a, b) => Number(offered[a]) - Number(offered[b]))) {
        const { status, body } = await attempts[name]()
        const hasSucceeded = status === 200 && body.data.status !== 'self_ship'
        expect({ state, [name]: hasSucceeded }).toEqual({ state, [name]: offered[name] })
        if (name === 'cancel' && hasSucceeded) ({ offered, attempts } = await make())
      }
      await verify(shop, true)
    }
  })

  it.each(['ready', 'processing', 'action_required'])(
    'a label that is %s shows its status, and ends the seller’s cancellation',
    async (status) => {
      const { shop, me } = await signedIn(LABEL)
      const { orders } = await sell(shop)
      await carrier(status)
      const { body } = await me.post(`${ORDERS}/${orders[0]}/label`)
      await carrier('ready')
      expect(body.data).toMatchObject({ status, order: { label: { status } } })
      expect(body.data.order.actions).toEqual({
        ship: { needs_tracking_code: false },
        label: true,
        cancel: [],
        needs_payout_setup: false,
      })
      expect(body.data.order.timeline.at(-1).kind).toBe('label_bought')
      expect(body.data.label_url === null).toBe(status !== 'ready')
    },
  )

  it('a slice that the seller ships has no label to buy', async () => {
    const { shop, me } = await signedIn(LETTER)
    const { orders } = await sell(shop)
    const { body } = await me.post(`${ORDERS}/${orders[0]}/label`)
    expect(body.data).toMatchObject({ status: 'self_ship', order: { actions: { label: false } } })
  })

  it('another seller’s order is not found by any request, and nothing changes', async () => {
    const { shop } = await signedIn(LABEL)
    const [id] = (await sell(shop)).orders
    const { me: stranger } = await signedIn(LABEL)
    const payload = { reason: 'other' }
    const requests = [
      stranger.get(`${ORDERS}/${id}`),
      stranger.get(`${ORDERS}/packing?orders=${id}`),
      stranger.get(`${ORDERS}/labels.pdf?orders=${id}`),
      stranger.post(`${ORDERS}/${id}/label`),
      stranger.post(`${ORDERS}/${id}/ship`, { payload: {} }),
      stranger.post(`${ORDERS}/${id}/ship`, { payload: { tracking_code: 1 } }),
      stranger.post(`${ORDERS}/${id}/cancel`, { payload }),
      stranger.post(`${ORDERS}/${id}/cancel`, { payload: {} }),
    ]
    for (const { status } of await Promise.all(requests)) expect(status).toBe(404)
    const { body } = await stranger.post(`${ORDERS}/labels`, { payload: { orders: [id] } })
    expect(body.data[0]).toMatchObject({ label: null, error: { type: 'not_found' } })
    expect(await keysOf(stranger)).toEqual([])
    expect((await shop.get(`/v1/orders/${id}`)).body.data.orders[0].status).toBe('pending')
  })
})

describe('several orders at once', () => {
  it('labels are bought one by one, and those that are ready are one PDF in the order of the request', async () => {
    const { shop, me } = await signedIn(LABEL)
    const [one, two] = [await sell(shop), await sell(shop, 'Brock', [cardItem(), productItem()])]
    const late = await sell(shop, 'Ash', [cardItem()], { address: null })
    const orders = [two.orders[0], late.orders[0], one.orders[0], two.orders[1]!]
    const { status, body } = await me.post(`${ORDERS}/labels`, { payload: { orders } })
    expect(status).toBe(200)
    expect(body.data.map((result: { order: number }) => result.order)).toEqual(orders)
    expect(body.data.map(({ label }: { label?: { status: string } }) => label?.status)).toEqual([
      'ready',
      undefined,
      'ready',
      'ready',
    ])
    expect(body.data[1].error.type).toBe('conflict')
    const ready = orders.filter((order) => order !== late.orders[0])
    const pdf = await app.app.inject({
      url: `${ORDERS}/labels.pdf?orders=${ready.join()}`,
      headers: { cookie: me.cookie },
    })
    expect(pdf.headers['content-type']).toBe('application/pdf')
    expect((await PDFDocument.load(pdf.rawPayload)).getPageCount()).toBe(2)
    const some = await app.app.inject({
      url: `${ORDERS}/labels.pdf?orders=${orders.join()}`,
      headers: { cookie: me.cookie },
    })
    // With a page that names the order without a label.
    expect((await PDFDocument.load(some.rawPayload)).getPageCount()).toBe(3)
    const none = await me.get(`${ORDERS}/labels.pdf?orders=${late.orders[0]}`)
    expect([none.status, none.body.error.type]).toEqual([409, 'conflict'])
  })

  it('labels of no orders, of more than 50, of a text and of one order twice are refused', async () => {
    const { me } = await signedIn(LABEL)
    for (const orders of [[], Array.from({ length: 51 }, (_, i) => i + 1), ['x'], [1, 1]]) {
      expect((await me.post(`${ORDERS}/labels`, { payload: { orders } })).status).toBe(422)
    }
  })

  it('a pick list adds up the same listing, and a slip has only the rows to pack', async () => {
    const { shop, me } = await signedIn(PARCEL)
    const [card, box] = (await list(shop, cardItem({ quantity: 5 }), productItem())) as [
      number,
      number,
    ]
    await app.ctx.db`update listings set reference = 'SHELF 4' where id = ${card}`
    const first = await buy(app, [
      [card, 2],
      [box, 1],
    ])
    const second = await buy(app, [[card, 1]], { address: null })
    await cancel(app, first.orderIds[1]!)
    const { body } = await me.get(`${ORDERS}/packing`)
    const { pick_list, slips } = body.data
    expect(pick_list).toMatchObject([
      {
        listing_id: card,
        reference: 'SHELF 4',
        quantity: 3,
        orders: [first.orderIds[0], second.orderIds[0]],
      },
    ])
    expect(slips).toMatchObject([
      { slice_key: first.sliceKey, buyer: { address: ADDRESS }, orders: [{ quantity: 2 }] },
      { slice_key: second.sliceKey, buyer: { address: null }, orders: [{ quantity: 1 }] },
    ])
    const chosen = await me.get(`${ORDERS}/packing?orders=${second.orderIds[0]}`)
    expect(chosen.body.data.slips).toEqual([slips[1]])
  })

  it('a selected order that has nothing to pack has no packing slip', async () => {
    const { shop, me } = await signedIn(PARCEL)
    const [done, waiting] = [await sell(shop), await sell(shop)]
    await cancel(app, done.orders[0])
    const { body } = await me.get(`${ORDERS}/packing?orders=${done.orders[0]},${waiting.orders[0]}`)
    expect(body.data.slips.map(({ slice_key }: { slice_key: string }) => slice_key)).toEqual([
      waiting.key,
    ])
  })

  it('a packing slip shows the day of the sale in the shop’s time zone', async () => {
    const { shop, me } = await signedIn()
    const { key } = await sell(shop)
    await app.ctx.db`
      update slices set created_at = '2020-12-28T13:33:00Z' where slice_key = ${key}
    `
    for (const [zone, day] of [
      ['UTC', '28 December 2020'],
      ['Pacific/Auckland', '29 December 2020'],
    ] as const) {
      await app.ctx.db`update accounts set time_zone = ${zone} where id = ${shop.accountId}`
      const page = await me.get(`${ORDERS}/packing`, { headers: { accept: 'text/html' } })
      expect(page.text, zone).toContain(`<small>${day}</small>`)
    }
  })

  it('everything that waits to be shipped is packed at once', async () => {
    const { shop, me } = await signedIn(PARCEL)
    for (let parcel = 0; parcel < 106; parcel++) await insertSlice(app.ctx.db, shop.accountId)
    const { text } = await me.get(`${ORDERS}/packing?document=pick_list`, {
      headers: { accept: 'text/html' },
    })
    expect(text).toContain('<p>106 parcels, 106 items</p>')
  })

  it('a browser gets packing slips as a page without scripts, with every name escaped', async () => {
    const { shop, me } = await signedIn(PARCEL)
    const script = '<script>alert(1)</script>'
    await sell(shop, script, [cardItem()], { address: { ...ADDRESS, full_name: script } })
    const page = await me.get(`${ORDERS}/packing?paper=a6&document=slips`, {
      headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
    })
    expect(page.headers['content-type']).toMatch('text/html')
    expect(page.text).not.toContain('<script')
    expect(page.text).toContain('&lt;script&gt;')
    expect(page.text).toContain('size:105mm 148mm')
    expect(page.headers['content-security-policy']).toMatch(/style-src 'sha256-/)
  })
})
