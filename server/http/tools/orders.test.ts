import { Readable } from 'node:stream'
import { PDFDocument } from '@pdfme/pdf-lib'
import { beforeAll, describe, expect, it } from 'vitest'
import { CarrierError } from '../../carriers/carrier.ts'
import { mergeLabels } from '../../shipping/several-labels.ts'
import { startTestApp, type TestApp } from '../../test/app.ts'
import { advance, cardItem, list, NO_LIMITS } from '../../test/fixtures/listings.ts'
import {
  act,
  buy,
  cancel,
  LABEL,
  openShop,
  PARCEL,
  sellEach,
  ship,
} from '../../test/fixtures/orders.ts'
import { until } from '../../test/until.ts'
import { whileReplaced } from '../../test/while-replaced.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
})

type Shop = Awaited<ReturnType<typeof openShop>>

const changedSince = async (shop: Shop, moment: Date): Promise<number[]> => {
  const { body } = await shop.get(`/tools/v1/orders?updated_since=${moment.toISOString()}`)
  return body.data.map(({ id }: { id: number }) => id)
}

/** The labels of these orders as one PDF. */
const mergedLabels = (shop: Shop, orders: number[]) =>
  app.app.inject({
    method: 'POST',
    url: '/tools/v1/labels',
    headers: { authorization: `Bearer ${shop.key}` },
    payload: { orders, merge: true },
  })

describe('GET /tools/v1/orders', () => {
  it('every change of an order row moves it to the end of a list with updated_since', async () => {
    const shop = await openShop(app, LABEL)
    const [one, two] = (await sellEach(app, shop, cardItem(), cardItem())) as [number, number]
    const moments: (() => Promise<unknown>)[] = [
      () => shop.post(`/v1/orders/${one}/label`),
      () => ship(shop, one),
      () => act(app, one, 'receive'),
      () => act(app, one, 'dispute'),
      () => act(app, one, 'resolve', { in_favour_of: 'seller' }),
    ]
    for (const change of moments) {
      await advance(app.operator, 60)
      const before = app.ctx.now()
      expect(await changedSince(shop, before)).toEqual([])
      await change()
      expect(await changedSince(shop, before)).toContain(one)
    }
    expect((await changedSince(shop, new Date(0))).at(-1)).toBe(one)
    const { body } = await shop.get('/tools/v1/orders')
    const v1 = await shop.get('/v1/orders')
    expect(body.data.map(({ id }: { id: number }) => id)).toEqual([two, one])
    for (const [i, row] of v1.body.data.entries()) expect(body.data[i]).toMatchObject(row)
  })

  it('a seller cancels a row with a reason; a body without one, another seller and a read-only key are refused', async () => {
    const shop = await openShop(app, PARCEL)
    const [order] = (await sellEach(app, shop, cardItem())) as [number]
    const path = `/tools/v1/orders/${order}/cancel`
    const stranger = await openShop(app)
    const reader = await app.seller({ scopes: ['orders:read'] })
    const payload = { reason: 'out_of_stock' }
    expect((await shop.post(path, { payload: { reason: 'mood' } })).status).toBe(422)
    expect((await stranger.post(path, { payload })).status).toBe(404)
    expect((await reader.post(path, { payload })).status).toBe(403)
    const { status, body } = await shop.post(path, { payload })
    expect(status).toBe(200)
    expect(body.data).toMatchObject({
      status: 'cancelled',
      cancelled_by: 'seller',
      cancel_reason: 'out_of_stock',
    })
    expect((await shop.post(path, { payload })).status).toBe(409)
  })
})

describe('POST /tools/v1/labels', () => {
  it('POST /tools/v1/labels returns each label, or one merged PDF and a header that names the orders without a label', async () => {
    const shop = await openShop(app, LABEL)
    const [one] = (await sellEach(app, shop, cardItem())) as [number]
    const [two] = (await sellEach(app, shop, cardItem())) as [number]
    const orders = [two, 999_999, one]
    const { body } = await shop.post('/tools/v1/labels', { payload: { orders } })
    const alone = await shop.post(`/v1/orders/${two}/label`)
    const { label_url, expires_at, order, ...label } = alone.body.data
    expect(body.data[0]).toMatchObject({ order: two, label, error: null })
    expect(body.data[1]).toMatchObject({ order: 999_999, error: { type: 'not_found' } })
    const merged = await mergedLabels(shop, orders)
    expect(merged.headers['content-type']).toBe('application/pdf')
    expect(merged.headers['x-missing-labels']).toBe('999999')
    expect((await PDFDocument.load(merged.rawPayload)).getPageCount()).toBe(2)
    const twice = await shop.post('/tools/v1/labels', { payload: { orders: [one, one] } })
    expect(twice.body.error.fields).toEqual({
      orders: ['The orders field must not have the same entry twice.'],
    })
  })

  it('the label of an order that was cancelled after the purchase says not to use it, and one PDF of several labels leaves it out', async () => {
    const shop = await openShop(app, LABEL)
    const [kept, without] = (await sellEach(app, shop, cardItem(), cardItem())) as [number, number]
    const [cancelled] = (await sellEach(app, shop, cardItem())) as [number]
    const orders = [kept, cancelled]
    await shop.post('/tools/v1/labels', { payload: { orders } })
    await cancel(app, without)
    await cancel(app, cancelled)
    const { body } = await shop.post('/tools/v1/labels', { payload: { orders } })
    const notToUse = 'Every row of this order was cancelled: don’t use its label.'
    expect(body.data[0].label).toMatchObject({ status: 'ready', message: null })
    expect(body.data[1].label).toMatchObject({ status: 'ready', message: notToUse })
    const { headers, rawPayload } = await mergedLabels(shop, orders)
    expect(headers['x-missing-labels']).toBe(String(cancelled))
    expect((await PDFDocument.load(rawPayload)).getPageCount()).toBe(1)
    expect((await mergedLabels(shop, [cancelled])).statusCode).toBe(409)
    const member = await app.member(shop.accountId)
    const shown = await member.get(`/dashboard/api/orders/${cancelled}`)
    expect(shown.body.data.label.message).toBe(notToUse)
  })
})

it('one PDF of several labels has a label whose file is lost, if the carrier still has it and there is time, and is 502 if all are lost', async () => {
  const shop = await openShop(app, LABEL)
  const orders = [
    ...(await sellEach(app, shop, cardItem())),
    ...(await sellEach(app, shop, cardItem())),
  ]
  const { body } = await shop.post('/tools/v1/labels', { payload: { orders } })
  const file = new URL(body.data[1].label.label_url).pathname.slice(1)
  const merge = async () => {
    await app.ctx.files.delete(file)
    const { headers, rawPayload } = await mergedLabels(shop, orders)
    return [headers['x-missing-labels'], (await PDFDocument.load(rawPayload)).getPageCount()]
  }
  expect(await merge()).toEqual([undefined, 2])
  await app.ctx.files.delete(file)
  const late = await mergeLabels(app.ctx, shop.accountId, orders, { fetchUntil: performance.now() })
  expect(late.missing).toEqual([orders[1]])
  const carrier = {
    ...app.ctx.carrier!,
    label: () => Promise.reject(new CarrierError('unknown', '')),
  }
  await whileReplaced(app.ctx, { carrier }, async () => {
    expect(await merge()).toEqual([String(orders[1]), 1])
    const lost = await mergedLabels(shop, orders.slice(1))
    expect([lost.statusCode, lost.json().error.type]).toEqual([502, 'provider_error'])
  })
})

describe('one PDF of several labels from a storage that fails', () => {
  /** A shop with the labels of this number of orders, and the name of each file. */
  const labels = async (count: number) => {
    const shop = await openShop(app, LABEL)
    const orders: number[] = []
    while (orders.length < count) orders.push(...(await sellEach(app, shop, cardItem())))
    const { body } = await shop.post('/tools/v1/labels', { payload: { orders } })
    const files = (body.data as { label: { label_url: string } }[]).map(({ label }) =>
      new URL(label.label_url).pathname.slice(1),
    )
    return { shop, orders, files }
  }

  it('a label whose file cannot be read is left out of one PDF of several labels, which is 502 if none can be read', async () => {
    const { shop, orders, files } = await labels(2)
    const { get } = app.ctx.files
    const failing: typeof get = (name, ...rest) =>
      name === files[0] ? Promise.reject(new Error('503 SlowDown')) : get(name, ...rest)
    await whileReplaced(app.ctx.files, { get: failing }, async () => {
      const { headers, rawPayload } = await mergedLabels(shop, orders)
      expect(headers['x-missing-labels']).toBe(String(orders[0]))
      expect((await PDFDocument.load(rawPayload)).getPageCount()).toBe(1)
      const none = await mergedLabels(shop, orders.slice(0, 1))
      expect([none.statusCode, none.json().error.type]).toEqual([502, 'provider_error'])
    })
    const { err, slice } = app.logged.findLast(
      ({ message }) => message === 'cannot read a stored label',
    )!
    expect([err, typeof slice]).toEqual([
      expect.objectContaining({ message: '503 SlowDown' }),
      'number',
    ])
    const { headers } = await mergedLabels(shop, orders)
    expect(headers['x-missing-labels']).toBeUndefined()
  })

  it('labels that cannot be read in time are left out of one PDF of several labels', async () => {
    const { shop, orders, files } = await labels(2)
    const { get } = app.ctx.files
    const hanging: typeof get = (name, ...rest) =>
      name === files[0] ? new Promise(() => {}) : get(name, ...rest)
    await whileReplaced(app.ctx.files, { get: hanging }, async () => {
      const readUntil = performance.now() + 2_000
      const { missing } = await mergeLabels(app.ctx, shop.accountId, orders, { readUntil })
      expect(missing).toEqual([orders[0]])
    })
  })

  it('labels that hang in the storage delay no other seller’s labels, and are no longer read once the client is gone', async () => {
    const one = await labels(6)
    const other = await labels(1)
    const { get } = app.ctx.files
    let reads = 0
    const hanging: typeof get = (name, ...rest) => {
      if (!one.files.includes(name)) return get(name, ...rest)
      reads++
      return new Promise(() => {})
    }
    await whileReplaced(app.ctx.files, { get: hanging }, async () => {
      const client = new AbortController()
      const { signal } = client
      const abandoned = mergeLabels(app.ctx, one.shop.accountId, one.orders, { signal })
      await until('the labels are being read', () => reads === 4)
      expect((await mergedLabels(other.shop, other.orders)).statusCode).toBe(200)
      client.abort()
      await expect(abandoned).rejects.toMatchObject({ type: 'provider_error' })
      expect(reads).toBe(4)
    })
    expect((await mergedLabels(one.shop, one.orders)).headers['x-missing-labels']).toBeUndefined()
  })

  it('labels of all sellers for one PDF each take a limited memory together, and each call gets its turn', async () => {
    const shops = await Promise.all(Array.from({ length: 6 }, () => labels(1)))
    const allStarted = Promise.withResolvers<void>()
    const breaking = Promise.withResolvers<void>()
    const megabyte = Buffer.alloc(1024 * 1024)
    let started = 0
    let megabytes = 0
    let complete = 0
    /** A file of 30 MB whose end breaks off. */
    async function* content() {
      if (++started === shops.length) allStarted.resolve()
      await allStarted.promise
      for (let i = 0; i < 30; i++) {
        megabytes++
        yield megabyte
      }
      complete++
      await breaking.promise
      throw new Error('The storage is broken.')
    }
    const large = async () => ({
      stream: Readable.from(content(), { highWaterMark: 1 }),
      length: undefined,
    })
    await whileReplaced(app.ctx.files, { get: large }, async () => {
      const calls = shops.map(({ shop, orders }) => mergedLabels(shop, orders))
      await until('the first file is read', () => complete > 0)
      expect(megabytes).toBeLessThan(170)
      breaking.resolve()
      for (const call of calls) expect((await call).statusCode).toBe(502)
      expect(megabytes).toBe(6 * 30)
    })
  })

  it('a client that disconnects ends its call for one PDF of several labels', async () => {
    const { shop, orders } = await labels(1)
    const client = new AbortController()
    let ended: AbortSignal | undefined
    const hanging = (_: string, signal?: AbortSignal) => {
      ended = signal
      return new Promise<never>(() => {})
    }
    const url = await app.app.listen({ port: 0, host: '127.0.0.1' })
    await whileReplaced(app.ctx.files, { get: hanging }, async () => {
      const call = fetch(`${url}/tools/v1/labels`, {
        method: 'POST',
        headers: { authorization: `Bearer ${shop.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ orders, merge: true }),
        signal: client.signal,
      })
      await until('the label is being read', () => ended !== undefined)
      client.abort()
      await expect(call).rejects.toThrow()
      await until('the reading has ended', () => ended!.aborted)
    })
  })
})

describe('GET /tools/v1/orders/packing', () => {
  it('GET /tools/v1/orders/packing pages through the parcels, oldest first, as JSON or as a print page', async () => {
    const shop = await openShop(app, PARCEL)
    const sold: number[] = []
    for (let i = 0; i < 3; i++) sold.push(...(await sellEach(app, shop, cardItem())))
    const packed: number[] = []
    for (const page of [1, 2, 3]) {
      const { body } = await shop.get(`/tools/v1/orders/packing?per_page=1&page=${page}`)
      expect(body.meta.total).toBe(3)
      packed.push(...body.data.slips[0].orders.map(({ id }: { id: number }) => id))
    }
    expect(packed).toEqual(sold)
    const { headers, text } = await shop.get('/tools/v1/orders/packing', {
      headers: { accept: 'text/html' },
    })
    expect(headers['content-type']).toMatch('text/html')
    for (const id of sold) expect(text).toContain(`Order ${id}`)
  })

  it('a print page with a part of the parcels says which part', async () => {
    const shop = await openShop(app, PARCEL)
    for (let i = 0; i < 3; i++) await sellEach(app, shop, cardItem())
    const print = async (query: string) => {
      const headers = { accept: 'text/html' }
      return (await shop.get(`/tools/v1/orders/packing?${query}`, { headers })).text
    }
    expect(await print('per_page=2&document=pick_list')).toContain('The first 2 of 3 parcels')
    expect(await print('per_page=2&document=slips')).toContain('The first 2 of 3 parcels')
    expect(await print('per_page=2&page=2&document=slips')).toContain('Parcels 3–3 of 3')
    expect(await print('document=slips')).not.toMatch(/parcels/i)
  })

  it('the pick list counts its parcels and items', async () => {
    const shop = await openShop(app, PARCEL)
    const print = async () => {
      const headers = { accept: 'text/html' }
      return (await shop.get('/tools/v1/orders/packing', { headers })).text
    }
    await sellEach(app, shop, cardItem())
    expect(await print()).toContain('<p>1 parcel, 1 item</p>')
    const [id] = await list(shop, cardItem({ quantity: 999 }))
    await buy(app, [[id!, 999]])
    expect(await print()).toContain('<p>2 parcels, 1,000 items</p>')
  })
})
