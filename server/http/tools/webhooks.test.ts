import { createHmac } from 'node:crypto'
import { type AddressInfo, connect } from 'node:net'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { Cardstall } from '../../../sdk/src/index.ts'
import { verify } from '../../../sdk/src/webhooks.ts'
import { startTestApp, type TestApp } from '../../test/app.ts'
import {
  isSignedWith,
  logDeliveries,
  sendSampleEvent,
  startReceiver,
  subscribe,
} from '../../test/fakes/receiver.ts'
import { advance, NO_LIMITS } from '../../test/fixtures/listings.ts'
import { untilLockWaiters } from '../../test/lock-waiters.ts'
import { until } from '../../test/until.ts'
import { allRecords } from '../../test/walk.ts'

let app: TestApp
let origin: string
beforeAll(async () => {
  app = await startTestApp({ settings: { ...NO_LIMITS, WEBHOOK_ALLOW_PRIVATE: 'true' } })
  await app.app.listen({ port: 0, host: '127.0.0.1' })
  origin = `http://127.0.0.1:${(app.app.server.address() as AddressInfo).port}`
})

const DELIVERIES = '/tools/v1/deliveries'

async function sellerWithEndpoint() {
  const [seller, receiver] = [await app.seller(), await startReceiver()]
  return { seller, receiver, ...(await subscribe(seller, receiver.url)) }
}

const dayOf = (days: number) =>
  new Date(app.ctx.now().getTime() + days * 86_400_000).toISOString().slice(0, 10)

describe('webhooks in the tools API', () => {
  it('a seller lists and resends only deliveries to own endpoints, by event and date', async () => {
    const { seller, receiver, id } = await sellerWithEndpoint()
    const stranger = await app.seller()
    for (const event of ['order.created', 'listing.sold']) {
      const sent = await seller.post('/tools/v1/events', { payload: { event } })
      expect([sent.status, sent.body]).toEqual([202, { data: { event, deliveries: 1 } }])
    }
    await app.runDeliveries()
    const idsOf = async (query: string, of = seller) => {
      const { body } = await of.get(`${DELIVERIES}?${query}`)
      expect(body.meta.total).toBe(body.data.length)
      return body.data.map((delivery: { id: number }) => delivery.id)
    }
    const [sold, created] = await idsOf('')
    expect(await idsOf('', stranger)).toEqual([])
    expect(await idsOf('event=order.created')).toEqual([created])
    expect(await idsOf(`endpoint_id=${id}&event=listing.sold&status=delivered`)).toEqual([sold])
    expect(await idsOf('status=pending&event=order.created')).toEqual([])
    const today = `from=${dayOf(-1)}&to=${dayOf(1)}`
    expect(await idsOf(`${today}&event=order.created`)).toEqual([created])
    const ever = 'from=0001-01-01T00:00:00Z&to=9999-12-31T23:59:59Z'
    expect(await idsOf(ever)).toEqual(await idsOf(today))
    expect(await idsOf(`from=${dayOf(1)}`)).toEqual([])
    expect(await idsOf(`to=${dayOf(-1)}`)).toEqual([])
    const invalid = await seller.get(`${DELIVERIES}?from=soon&event=order.lost`)
    expect(Object.keys(invalid.body.error.fields)).toEqual(['event'])

    for (const path of [`${DELIVERIES}/${created}/resend`, `/tools/v1/webhooks/${id}/test`]) {
      const payload = { event: 'order.created' }
      expect((await stranger.post(path, { payload })).status).toBe(404)
      expect((await seller.post(path, { payload })).status).toBe(202)
    }
    const period = { from: dayOf(-1), to: dayOf(1) }
    const missed = await seller.post(`/tools/v1/webhooks/${id}/resend`, { payload: period })
    expect(missed.body).toEqual({ data: { deliveries: 0 } })
    expect((await stranger.post(`/tools/v1/webhooks/${id}/resend`)).status).toBe(404)
    await app.runDeliveries()
    expect(
      receiver.arrived.map(({ json }) => json.delivery_id).filter((it) => it === created),
    ).toEqual([created, created])
  })

  it('pages, their links and an iteration of the SDK reach the newest 10,000 deliveries of a list, and a period the others', async () => {
    const { seller, id } = await sellerWithEndpoint()
    const { id: otherId } = await subscribe(seller, 'https://nowhere.invalid/')
    await logDeliveries(app, seller.accountId, [id, otherId], 10_200)
    const member = await app.member(seller.accountId)
    const lists = [
      [seller, `${DELIVERIES}?per_page=100`],
      [member, '/dashboard/api/webhooks/deliveries?per_page=100'],
      [app.operator, `/operator/v1/deliveries?account_id=${seller.accountId}&per_page=100`],
    ] as const
    for (const [client, list] of lists) {
      const first = await client.get(`${list}&page=100`)
      expect([first.body.data.length, first.body.meta]).toMatchObject([
        100,
        { total: 10_200, last_page: 100 },
      ])
      const { next, last } = first.body.links
      expect([next, new URL(last).searchParams.get('page')]).toEqual([null, '100'])
      const { status, body } = await client.get(`${list}&page=101`)
      expect([status, body.error.fields]).toEqual([
        422,
        {
          page: [
            'Pages reach only the newest 10,000 deliveries of a list. Use from and to to list others.',
          ],
        },
      ])
      expect((await client.get(`${list}&page=1000`)).body.data).toEqual([])
    }
    const ids = await app.ctx.db<{ id: number }[]>`
      select id from deliveries where endpoint_id in (${id}, ${otherId}) order by id desc
    `
    for (const [client, list] of [lists[0], lists[2]]) {
      const last = (await client.get(`${list}&page=100`)).body.data.at(-1)
      expect(last.id).toBe(ids[9_999]!.id)
      const older = await allRecords(client, `${list}&to=${last.created_at}`)
      const listed = older.map(({ id }: { id: number }) => ({ id }))
      expect(listed).toEqual(ids.slice(-listed.length))
      expect(listed).toContainEqual({ id: last.id })
    }
    const client = new Cardstall({ key: seller.key, baseUrl: `${origin}/v1` })
    const iterated = await client.tools.deliveries.list().all(10_200)
    expect(iterated.map(({ id }) => id)).toEqual(ids.slice(0, 10_000).map(({ id }) => id))
    const unowned = await app.operator.get('/operator/v1/deliveries?from=2026-01-01')
    expect([unowned.status, Object.keys(unowned.body.error.fields)]).toEqual([422, ['account_id']])
  })

  it('a delivery within 24 hours of a rotation has a signature with each of the two secrets', async () => {
    const { seller, receiver, id, secret: first } = await sellerWithEndpoint()
    const rotate = async () =>
      (await seller.post(`/tools/v1/webhooks/${id}/rotate-secret`)).body.secret as string
    const send = async () => {
      await sendSampleEvent(app, seller.accountId)
      await app.runDeliveries()
      return receiver.arrived.at(-1)!
    }
    const previousOf = ({ headers, body }: Awaited<ReturnType<typeof send>>, secret: string) => {
      const signed = createHmac('sha256', secret).update(`${headers['x-service-timestamp']}.`)
      return headers['x-service-signature-previous'] === signed.update(body).digest('hex')
    }
    expect((await send()).headers).not.toHaveProperty('x-service-signature-previous')
    const second = await rotate()
    expect(second).toMatch(/^svc_whsec_\w{40}$/)
    const both = await send()
    expect([isSignedWith(second, both), previousOf(both, first)]).toEqual([true, true])
    const options = { toleranceSeconds: Number.POSITIVE_INFINITY }
    for (const secret of [first, second]) {
      const { event } = await verify(both.body, both.headers, secret, options)
      expect(event).toBe('order.created')
    }
    const third = await rotate()
    const leaked = await send()
    expect([isSignedWith(third, leaked), previousOf(leaked, second)]).toEqual([true, true])
    await expect(verify(leaked.body, leaked.headers, first, options)).rejects.toThrow('signature')
    await advance(app.operator, 24 * 3600)
    const later = await send()
    expect(isSignedWith(third, later)).toBe(true)
    expect(later.headers).not.toHaveProperty('x-service-signature-previous')
    expect((await (await app.seller()).post(`/tools/v1/webhooks/${id}/rotate-secret`)).status).toBe(
      404,
    )
  })

  it('a new endpoint and a rotation that are repeated with their Idempotency-Key return the same secret, to the same key only', async () => {
    const { seller, receiver, id, secret: first } = await sellerWithEndpoint()
    const headers = { 'idempotency-key': 'again' }
    const rotate = () => seller.post(`/tools/v1/webhooks/${id}/rotate-secret`, { headers })
    const { body: rotated } = await rotate()
    expect((await rotate()).body).toEqual(rotated)
    await sendSampleEvent(app, seller.accountId)
    await app.runDeliveries()
    const { headers: sent, body } = receiver.arrived.at(-1)!
    const signed = createHmac('sha256', first).update(`${sent['x-service-timestamp']}.`)
    expect(sent['x-service-signature-previous']).toBe(signed.update(body).digest('hex'))

    const payload = { url: 'https://shop.example/again', events: ['order.created'] }
    const create = () => seller.post('/v1/webhooks', { payload, headers })
    const created = await create()
    expect(created.status).toBe(201)
    expect(await create()).toMatchObject({ status: 201, body: created.body })
    expect((await seller.get('/v1/webhooks')).body.data).toHaveLength(2)
    const stored = await app.ctx.db`select answer from idempotency_keys where key = 'again'`
    expect(stored).toHaveLength(2)
    expect(JSON.stringify(stored)).not.toContain('svc_whsec_')
    const keys = `/operator/v1/accounts/${seller.accountId}/keys`
    const key = await app.operator.post(keys, { payload: { scopes: ['webhooks:manage'] } })
    const elsewhere = app.withKey(key.body.key)
    const other = await elsewhere.post(`/tools/v1/webhooks/${id}/rotate-secret`, { headers })
    expect(other.body.secret).not.toBe(rotated.secret)
  })

  it('the stream has the seller’s own events and resends, and ends when the key is revoked', async () => {
    const { seller, id } = await sellerWithEndpoint()
    const stranger = await app.seller()
    const client = new Cardstall({ key: seller.key, baseUrl: `${origin}/v1` })
    const seen: string[] = []
    const feed = client.tools.events.follow()
    const following = (async () => {
      for await (const { event } of feed) seen.push(event)
    })()
    following.catch(() => {})
    await until('the stream has begun', () => feed.cursor() !== undefined)
    await sendSampleEvent(app, stranger.accountId, 'order.cancelled')
    await client.tools.events.send('order.created')
    await until('the event arrived', () => seen.length === 1)
    const [delivery] = (await seller.get(`${DELIVERIES}?endpoint_id=${id}`)).body.data
    await client.tools.deliveries.resend(delivery.id)
    await until('the resend arrived', () => seen.length === 2)
    expect(seen).toEqual(['order.created', 'order.created'])

    await app.operator.delete(`/operator/v1/accounts/${seller.accountId}/keys/${seller.keyId}`)
    await sendSampleEvent(app, seller.accountId, 'order.cancelled')
    await expect(following).rejects.toThrow('revoked')
    expect(seen).toHaveLength(2)
  })

  it('a client that disconnects while its key is looked up leaves no event stream behind', async () => {
    const seller = await app.seller()
    const { server } = app.app
    const connections = promisify(server.getConnections.bind(server))
    for (let i = 0; i < 5; i++) {
      const payload = { scopes: ['webhooks:manage'] }
      const keys = `/operator/v1/accounts/${seller.accountId}/keys`
      const { key } = (await app.operator.post(keys, { payload })).body
      const before = await connections()
      await app.ctx.begin(async (db) => {
        await db`lock table api_keys in access exclusive mode`
        const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
        const head = `GET /tools/v1/events/stream HTTP/1.1\r\nAuthorization: Bearer ${key}`
        socket.write(`${head}\r\n\r\n`)
        await untilLockWaiters(app.ctx.db)
        socket.resetAndDestroy()
        await until('the connection is closed', async () => (await connections()) <= before)
      })
    }
    const leaving = new AbortController()
    const { status } = await fetch(`${origin}/tools/v1/events/stream`, {
      headers: { authorization: `Bearer ${seller.key}` },
      signal: leaving.signal,
    })
    leaving.abort()
    expect(status).toBe(200)
  })

  it('a seller can open five event streams at a time, and one that ends makes room for another', async () => {
    const seller = await app.seller()
    const open = () => {
      const leaving = new AbortController()
      const headers = { authorization: `Bearer ${seller.key}` }
      const url = `${origin}/tools/v1/events/stream`
      // The response is kept, because its stream ends when it is garbage-collected.
      return fetch(url, { headers, signal: leaving.signal }).then((response) => ({
        response,
        status: response.status,
        leave: () => leaving.abort(),
      }))
    }
    const streams = await Promise.all([1, 2, 3, 4, 5].map(open))
    expect(streams.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect((await open()).status).toBe(409)
    streams[0]!.leave()
    await until('there is room', async () => {
      const again = await open()
      streams.push(again)
      return again.status === 200
    })
    for (const { leave } of streams) leave()
    expect(
      (await (await app.seller({ scopes: ['orders:read'] })).get('/tools/v1/events/stream')).status,
    ).toBe(403)
  })
})
