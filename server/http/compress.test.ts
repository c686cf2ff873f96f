import { gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { OPERATOR_TOKEN, startTestApp } from '../test/app.ts'
import { items, list } from '../test/fixtures/listings.ts'

it('a list is compressed for a script of our own pages, and for nothing that another site can cause', async () => {
  const app = await startTestApp({ template: 'fixture' })
  const seller = await app.seller()
  await list(seller, ...items(20))
  const { cookie } = await app.member(seller.accountId)
  const read = (url: string, headers: object) =>
    app.app.inject({
      url,
      headers: { cookie, authorization: `Bearer ${OPERATOR_TOKEN}`, ...headers },
    })
  const own = { 'sec-fetch-site': 'same-origin', 'accept-encoding': 'gzip, br' }
  for (const url of ['/dashboard/api/listings', '/operator/v1/listings']) {
    const plain = await read(url, { 'accept-encoding': 'gzip, br' })
    expect(plain.json().data).toHaveLength(20)
    const compressed = await read(url, own)
    expect(compressed.headers).toMatchObject({
      'content-encoding': 'gzip',
      'content-length': String(compressed.rawPayload.length),
      vary: 'accept-encoding',
    })
    expect(compressed.rawPayload.length).toBeLessThan(plain.rawPayload.length / 3)
    expect(JSON.parse(gunzipSync(compressed.rawPayload).toString())).toEqual(plain.json())
    for (const headers of [
      { ...own, 'sec-fetch-site': 'same-site' },
      { ...own, 'sec-fetch-site': 'cross-site' },
      { ...own, 'sec-fetch-site': 'none' },
      { ...own, 'accept-encoding': 'br' },
    ]) {
      const response = await read(url, headers)
      expect(response.headers).not.toHaveProperty('content-encoding')
      expect(response.json()).toEqual(plain.json())
    }
  }
  const short = await read('/dashboard/api/me', own)
  expect(short.headers).not.toHaveProperty('content-encoding')
  expect(short.json().data.account.id).toBe(seller.accountId)
})

it('public pages and documents are compressed for every client that accepts it, and keep their other headers', async () => {
  const { app } = await startTestApp({ template: 'fixture' })
  const read = (url: string, headers: Record<string, string>) => app.inject({ url, headers })
  for (const [url, vary] of [
    ['/', 'accept, accept-encoding'],
    ['/sets', 'accept-encoding'],
    ['/market.css', 'accept-encoding'],
    ['/docs/guides/money', 'accept-encoding'],
    ['/docs/pages.css', 'accept-encoding'],
    ['/docs/scalar.js', 'accept-encoding'],
    ['/openapi.json', 'accept-encoding'],
    ['/tools/openapi.json', 'accept-encoding'],
    ['/operator/openapi.json', 'accept-encoding'],
  ] as const) {
    const plain = await read(url, { accept: 'text/html', 'accept-encoding': 'identity' })
    expect(plain.headers, url).not.toHaveProperty('content-encoding')
    expect(plain.headers, url).toMatchObject({ vary })
    // The second response of a document comes from its kept bytes.
    for (const encoding of ['gzip', 'gzip, br']) {
      const compressed = await read(url, { accept: 'text/html', 'accept-encoding': encoding })
      expect(compressed.headers, url).toMatchObject({ 'content-encoding': 'gzip', vary })
      expect(compressed.rawPayload.length).toBeLessThan(plain.rawPayload.length * 0.6)
      expect(gunzipSync(compressed.rawPayload).equals(plain.rawPayload), url).toBe(true)
    }
  }
})

it.each([
  ['/', 'accept, accept-encoding'],
  ['/sets', 'accept-encoding'],
])(
  'the page %s has the same weak tag with and without compression, and a 304 has the headers by which a cache finds its copy',
  async (url, vary) => {
    const { app } = await startTestApp({ template: 'fixture' })
    const read = (encoding: string, headers: Record<string, string> = {}) =>
      app.inject({
        url,
        headers: { accept: 'text/html', 'accept-encoding': encoding, ...headers },
      })
    const { etag, 'cache-control': cacheControl } = (await read('gzip')).headers
    expect(etag).toMatch(/^W\/"/)
    for (const encoding of ['gzip', 'identity']) {
      expect((await read(encoding)).headers).toMatchObject({ etag, vary })
      const again = await read(encoding, { 'if-none-match': String(etag) })
      expect(again.statusCode).toBe(304)
      expect(again.rawPayload).toHaveLength(0)
      expect(again.headers).toMatchObject({ etag, vary, 'cache-control': cacheControl })
    }
  },
)
