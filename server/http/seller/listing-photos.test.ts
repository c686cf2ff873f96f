import { beforeAll, describe, expect, it } from 'vitest'
import { startPhotoWorker } from '../../photos/photo-worker.ts'
import { type Seller, startTestApp, type TestApp } from '../../test/app.ts'
import { type FakeNetwork, fakeNetwork } from '../../test/fakes/network.ts'
import { cardItem, list, listed } from '../../test/fixtures/listings.ts'
import { jpeg } from '../../test/pictures.ts'
import { until } from '../../test/until.ts'
import { pathOf } from '../../test/walk.ts'

let market: TestApp
let seller: Seller
let internet: FakeNetwork
beforeAll(async () => {
  internet = fakeNetwork()
  market = await startTestApp({ template: 'fixture', network: internet })
  seller = await market.seller()
  const picture = await jpeg(600, 400)
  await internet.site('shop.example', (request, answer) => {
    if (request.url === '/hangs.jpg') return
    if (request.url === '/missing.jpg') answer.writeHead(404).end()
    else answer.end(picture)
  })
})

const at = (name: string) => `http://shop.example/${name}.jpg`

describe('the photos of a listing', () => {
  it('photos appear after the bulk create, in the order of photo_urls, for seller and buyers', async () => {
    const [id, other] = await list(
      seller,
      cardItem({ photo_urls: [at('front'), at('missing'), at('back')] }),
      cardItem({ photo_urls: [at('other')] }),
    )
    expect((await listed(seller, id!)).photos).toEqual([])

    await market.runPhotos()
    const { photos } = await listed(seller, id!)
    const shown = await market.operator.get(`/operator/v1/listings/${id}/photos`)
    expect(shown.body.data).toMatchObject([
      { photo_url: at('front'), status: 'stored', thumbnail_url: photos[0] },
      { photo_url: at('missing'), status: 'waiting', error: expect.stringContaining('404') },
      { photo_url: at('back'), status: 'stored', thumbnail_url: photos[1] },
    ])
    expect(photos).toHaveLength(2)
    const { status, headers } = await market.anyone.get(pathOf(photos[0]))
    expect(status).toBe(200)
    expect(headers['content-type']).toBe('image/jpeg')

    const offers = (await seller.get('/v1/cards/sv3-125?include=listings')).body.data.listings
    expect(offers.find((offer: { id: number }) => offer.id === id).photos).toEqual(photos)
    expect((await listed(seller, other!)).photos).toHaveLength(1)
  })

  it('creating a listing wakes the photo worker', async () => {
    // Without the wake-up, the next poll would be in an hour.
    const worker = startPhotoWorker(market.ctx, { pollIntervalMs: 3_600_000 })
    try {
      await until('the worker has polled', () => market.ctx.db`select 1`)
      const [id] = await list(seller, cardItem({ photo_urls: [at('front')] }))
      await until('the photo is there', async () => (await listed(seller, id!)).photos.length > 0)
    } finally {
      await worker.stop()
    }
  })

  it('one seller’s photos do not wait for another seller’s unresponsive URLs', async () => {
    const slowSeller = await market.seller()
    const other = await market.seller()
    const worker = startPhotoWorker(market.ctx)
    try {
      const hanging = Array.from({ length: 10 }, () => at('hangs'))
      const [stuck] = await list(slowSeller, cardItem({ photo_urls: hanging }))
      await until('both downloads that one seller may run at once have started', async () => {
        const { body } = await market.operator.get(`/operator/v1/listings/${stuck}/photos`)
        return body.data.filter((photo: { attempts: number }) => photo.attempts > 0).length === 2
      })
      const [id] = await list(other, cardItem({ photo_urls: [at('front')] }))
      await until('the photo is there', async () => (await listed(other, id!)).photos.length > 0)
      const { body } = await market.operator.get(`/operator/v1/listings/${stuck}/photos`)
      expect(body.data.filter((photo: { attempts: number }) => photo.attempts > 0)).toHaveLength(2)
    } finally {
      await worker.stop()
      await market.ctx.db`delete from photos where url = ${at('hangs')}`
    }
  })

  it('a listing’s updated_at advances when its photo arrives, so that a sync finds it', async () => {
    const [id] = await list(seller, cardItem({ photo_urls: [at('front')] }))
    await market.operator.post('/operator/v1/sandbox/clock', { payload: { advance_seconds: 60 } })
    const since = market.ctx.now().toISOString()
    await market.runPhotos()
    const { body } = await seller.get(`/v1/listings?updated_since=${since}`)
    expect(body.data.map((listing: { id: number }) => listing.id)).toContain(id)
  })
})
