import { beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../../test/app.ts'
import { insertListingWithPhotos } from '../../test/fixtures/listings.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})

const photosOf = (id: number | string) => app.operator.get(`/operator/v1/listings/${id}/photos`)

describe('GET /operator/v1/listings/{id}/photos', () => {
  it('GET /operator/v1/listings/{id}/photos lists every photo_url in order', async () => {
    const id = await insertListingWithPhotos(
      app,
      'http://a.example/2.jpg',
      'http://a.example/1.jpg',
    )
    const { status, body } = await photosOf(id)
    expect(status).toBe(200)
    const waiting = {
      status: 'waiting',
      error: null,
      url: null,
      thumbnail_url: null,
      attempts: 0,
      next_attempt_at: expect.stringMatching(/Z$/),
    }
    expect(body).toEqual({
      data: [
        { photo_url: 'http://a.example/2.jpg', ...waiting },
        { photo_url: 'http://a.example/1.jpg', ...waiting },
      ],
    })
  })

  it('GET /operator/v1/listings/{id}/photos is empty for a listing without photos', async () => {
    expect((await photosOf(await insertListingWithPhotos(app))).body).toEqual({ data: [] })
  })

  it('GET /operator/v1/listings/{id}/photos still shows the photos of a deleted listing', async () => {
    const id = await insertListingWithPhotos(app, 'http://a.example/1.jpg')
    await app.ctx.db`update listings set status = 'removed' where id = ${id}`
    expect((await photosOf(id)).body.data).toHaveLength(1)
  })

  it('GET /operator/v1/listings/{id}/photos returns 404 for an unknown listing and 401 without the token', async () => {
    for (const id of [987654, 0, 'x']) {
      expect((await photosOf(id)).body.error.type).toBe('not_found')
    }
    expect((await app.anyone.get('/operator/v1/listings/1/photos')).status).toBe(401)
  })
})
