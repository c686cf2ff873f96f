import { beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../test/app.ts'
import { importRecords } from '../test/catalog-fixture.ts'
import { responseCache } from './response-cache.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ rateLimitTime: () => 0 })
  await importRecords(app.operator, [
    { type: 'set', id: 'base1', name: 'Base', series: 'Base', language: 'EN', region: 'int' },
    { type: 'card', id: 'base1-4', set_id: 'base1', name: 'Charizard', number: '4' },
  ])
})

const CARD = '/v1/cards/base1-4'

describe('cached responses', () => {
  it('a cached catalog response equals the first, with its own request id and rate-limit headers', async () => {
    const seller = await app.seller()
    const [first, second] = [await seller.get(CARD), await seller.get(CARD)]
    expect(second.text).toBe(first.text)
    expect(second.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(second.headers['x-request-id']).not.toBe(first.headers['x-request-id'])
    expect(second.headers['x-ratelimit-remaining']).toBe('598')
  })

  it('a cached catalog response still requires a valid key, access and the scope', async () => {
    const seller = await app.seller()
    const narrow = await app.seller({ scopes: ['orders:read'] })
    const disabled = await app.seller({ account: { apiAccess: 'disabled' } })
    expect((await seller.get(CARD)).status).toBe(200)
    expect((await app.anyone.get(CARD)).status).toBe(401)
    expect((await narrow.get(CARD)).status).toBe(403)
    expect((await disabled.get(CARD)).status).toBe(403)
  })

  it('a cached catalog response has no body for HEAD', async () => {
    const seller = await app.seller()
    const { text, headers } = await seller.get(CARD)
    const head = await seller.head(CARD)
    expect(head.text).toBe('')
    expect(head.headers['content-length']).toBe(String(Buffer.byteLength(text)))
    expect(headers['content-length']).toBe(head.headers['content-length'])
  })

  it('an import invalidates cached catalog responses', async () => {
    const seller = await app.seller()
    expect((await seller.get(CARD)).body.data.name).toBe('Charizard')
    await importRecords(app.operator, [
      { type: 'card', id: 'base1-4', set_id: 'base1', name: 'Charizard δ', number: '4' },
    ])
    expect((await seller.get(CARD)).body.data.name).toBe('Charizard δ')
  })

  it('the cache keeps a response at its second request, is bounded, and evicts the oldest responses first', () => {
    const catalog = {} as never
    const cache = responseCache({ catalog: { current: catalog } as never })
    const route = {} as { onRequest: ((...of: unknown[]) => void)[] }
    cache.sendCachedFirst(route as never)
    const reply = { header: () => reply, getHeader() {}, send: () => reply } as never
    const isCached = (url: string) => {
      let isMiss = false
      route.onRequest[0]!({ url, headers: {} }, reply, () => {
        isMiss = true
      })
      return !isMiss
    }
    const megabyte = Buffer.alloc(1024 * 1024)
    const send = (i: number) =>
      cache.send({ url: `/${i}`, headers: {}, routeOptions: {} } as never, reply, catalog, megabyte)
    send(0)
    expect(isCached('/0')).toBe(false)
    send(0)
    expect(isCached('/0')).toBe(true)
    for (let i = 1; i < 40; i++) {
      send(i)
      send(i)
    }
    expect([isCached('/0'), isCached('/39')]).toEqual([false, true])
    const cached = Array.from({ length: 40 }, (_, i) => isCached(`/${i}`)).filter(Boolean).length
    expect(cached).toBe(31)
  })
})
