import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import sharp from 'sharp'
import { beforeAll, describe, expect, it } from 'vitest'
import { photoFile, photoPath, thumbnailFile } from '../../photos/photo.ts'
import { startTestApp, type TestApp } from '../../test/app.ts'
import { jpeg } from '../../test/pictures.ts'

const newName = () => randomBytes(16).toString('base64url')

let app: TestApp
let name: string
let bytes: Buffer
beforeAll(async () => {
  app = await startTestApp()
  name = newName()
  bytes = await jpeg()
  for (const file of [photoFile(name), thumbnailFile(name)]) {
    await app.ctx.files.put(photoPath(file), bytes, 'image/jpeg')
  }
  await app.ctx.files.put('photos/secret.txt', bytes, 'text/plain')
})

const HEADERS = {
  'content-type': 'image/jpeg',
  'cache-control': 'public, max-age=31536000, immutable',
  'x-content-type-options': 'nosniff',
}

describe('GET /photos/{file}', () => {
  it('GET /photos/{file} serves photos and thumbnails to anyone, cacheable forever', async () => {
    for (const file of [`${name}.jpg`, `${name}-thumb.jpg`]) {
      const response = await app.app.inject(`/photos/${file}`)
      expect(response.statusCode).toBe(200)
      expect(response.rawPayload).toEqual(bytes)
      expect(response.headers).toMatchObject({ ...HEADERS, 'content-length': String(bytes.length) })
      expect((await sharp(response.rawPayload).metadata()).format).toBe('jpeg')
    }
  })

  it('HEAD /photos/{file} returns the headers of GET without the image', async () => {
    const response = await app.anyone.head(`/photos/${name}.jpg`)
    expect(response).toMatchObject({ status: 200, text: '', headers: HEADERS })
    expect(Number(response.headers['content-length'])).toBe(bytes.length)
  })

  it('GET /photos/{file} returns 404 for every other name, also for stored files', async () => {
    for (const file of [
      `${newName()}.jpg`,
      `${name}.png`,
      `${name}`,
      `${name}-large.jpg`,
      `${name}.jpg.jpg`,
      `${name.slice(1)}.jpg`,
      'secret.txt',
      '..%2Fphotos%2Fsecret.txt',
      `..%2f${name}.jpg`,
      `${name}.jpg%0a`,
    ]) {
      expect(await app.anyone.get(`/photos/${file}`)).toMatchObject({
        status: 404,
        body: { error: { type: 'not_found', message: 'There is no such photo.' } },
      })
    }
    expect((await app.anyone.post(`/photos/${name}.jpg`)).status).toBe(405)
  })

  it('no cache keeps the error of a photo whose file can’t be read', async () => {
    const file = photoFile(newName())
    // A directory: opening it succeeds, and reading it fails.
    await mkdir(new URL(`${app.ctx.config.storageUrl}/${photoPath(file)}`))
    const { status, headers, body } = await app.anyone.get(`/photos/${file}`)
    expect([status, headers['cache-control']]).toEqual([500, 'no-store'])
    expect(body.error.type).toBe('server_error')
  })
})
