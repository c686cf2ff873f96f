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
