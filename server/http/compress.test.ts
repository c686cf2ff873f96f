import { gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { OPERATOR_TOKEN, startTestApp } from '../test/app.ts'
import { items, list } from '../test/fixtures/listings.ts'

/** Pages and documents that are the same for everybody. */
const LONG_TEXTS = [
  '/',
  '/sets',
  '/market.css',
  '/signin/pages.css',
  '/docs/guides/money',
  '/docs/pages.css',
  '/docs/scalar.js',
  '/openapi.json',
  '/tools/openapi.json',
  '/operator/openapi.json',
]
const OTHERS = [
  '/search?q=pikachu',
  '/robots.txt',
  '/sitemap.xml',
  '/docs',
  '/docs/guides/examples/sync-listings.ts',
  '/docs/guides/images/overview.png',
]

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
  for (const url of LONG_TEXTS) {
    const vary = url === '/' ? 'accept, accept-encoding' : 'accept-encoding'
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

it('public pages and documents have a weak tag, and a 304 for it has the headers with which a cache finds and updates its copy', async () => {
  const { app } = await startTestApp({ template: 'fixture' })
  for (const url of [...LONG_TEXTS, ...OTHERS]) {
    for (const encoding of ['gzip', 'identity']) {
      const read = (method: 'GET' | 'HEAD' = 'GET', known?: string) =>
        app.inject({
          method,
          url,
          headers: {
            accept: 'text/html',
            'accept-encoding': encoding,
            ...(known === undefined ? {} : { 'if-none-match': known }),
          },
        })
      const { headers, rawPayload } = await read()
      expect(headers.etag, url).toMatch(/^W\/"/)
      const again = await read('GET', headers.etag as string)
      expect([again.statusCode, again.rawPayload.length], url).toEqual([304, 0])
      for (const name of ['content-length', 'content-type', 'content-encoding']) {
        expect(again.headers, url).not.toHaveProperty(name)
      }
      for (const name of ['etag', 'vary', 'cache-control', 'content-security-policy']) {
        expect(again.headers[name], `${name} of ${url}`).toBe(headers[name])
      }
      const head = await read('HEAD', headers.etag as string)
      expect([head.statusCode, head.rawPayload.length], url).toEqual([304, 0])
      const changed = await read('GET', 'W/"another"')
      expect([changed.statusCode, changed.rawPayload.equals(rawPayload)], url).toEqual([200, true])
    }
  }
})

it('a page that is compressed when it is sent has the same tag without compression', async () => {
  const { app } = await startTestApp({ template: 'fixture' })
  const tagOf = async (encoding: string) => {
    const headers = { accept: 'text/html', 'accept-encoding': encoding }
    return (await app.inject({ url: '/sets', headers })).headers.etag
  }
  expect(await tagOf('gzip')).toBe(await tagOf('identity'))
})
