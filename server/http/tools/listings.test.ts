import { beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../../test/app.ts'
import { cardItem, list, productItem } from '../../test/fixtures/listings.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture' })
})

describe('GET /tools/v1/listings', () => {
  it('the tools API lists the listings of the seller API, in its order, with two more fields', async () => {
    const seller = await app.seller()
    await list(seller, cardItem(), productItem(), cardItem({ quantity: 1 }))
    for (const query of ['', '?status=active&per_page=2&page=2', '?updated_since=2026-01-01']) {
      const { body } = await seller.get(`/v1/listings${query}`)
      const { body: own } = await seller.get(`/tools/v1/listings${query}`)
      const expected = body.data.map((listing: object) => ({
        ...listing,
        reference: null,
        photos_failed: 0,
      }))
      expect(own.data).toEqual(expected)
      expect(own.meta.total).toBe(body.meta.total)
      expect(own.links.first).toContain('/tools/v1/listings?')
    }
  })

  it('a listing of another seller is not found, and a key without listings:read gets 403', async () => {
    const [owner, other] = [await app.seller(), await app.seller()]
    const [id] = await list(owner, cardItem())
    expect((await owner.get(`/tools/v1/listings/${id}`)).body.data).toMatchObject({ id })
    for (const path of [id, 999_999, 'x']) {
      expect((await other.get(`/tools/v1/listings/${path}`)).status, String(path)).toBe(404)
    }
    const writer = await app.seller({ scopes: ['listings:write'] })
    expect((await writer.get('/tools/v1/listings')).status).toBe(403)
    expect((await app.anyone.get('/tools/v1/listings')).status).toBe(401)
  })

  it('photos_failed is the number of photos that could not be fetched', async () => {
    const seller = await app.seller()
    const photo_urls = ['http://photos.invalid/1.jpg', 'http://photos.invalid/2.jpg']
    const [id] = await list(seller, cardItem({ photo_urls }))
    await app.ctx.db`
      update photos set status = 'failed', error = 'x', next_attempt_at = null where listing_id = ${id!} and position = 1
    `
    expect((await seller.get(`/tools/v1/listings/${id}`)).body.data.photos_failed).toBe(1)
    expect((await seller.get('/tools/v1/listings')).body.data[0].photos_failed).toBe(1)
  })
})

describe('POST /tools/v1/listings/checks', () => {
  it('the check of an item with an ambiguous card has the candidates of GET /v1/cards/{identifier}', async () => {
    const seller = await app.seller()
    const payload = { items: [cardItem({ card: 'brs_1' })] }
    const { body } = await seller.post('/tools/v1/listings/checks', { payload })
    const refused = await seller.get('/v1/cards/brs_1')
    expect(refused.status).toBe(409)
    expect(body.data[0].candidates).toEqual(refused.body.error.fields.candidates)
  })
})
