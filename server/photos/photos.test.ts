import { mkdir, readdir, rm, rmdir } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import sharp from 'sharp'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { inTransaction } from '../database/in-transaction.ts'
import { runSchedule } from '../schedule.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import { type FakeNetwork, fakeNetwork, startWebServer } from '../test/fakes/network.ts'
import { insertListing, insertListingWithPhotos, insertPhotos } from '../test/fixtures/listings.ts'
import { sampleValue } from '../test/metrics.ts'
import { newDirectory } from '../test/new-directory.ts'
import { jpeg } from '../test/pictures.ts'
import { rowsRead } from '../test/rows-read.ts'
import { until } from '../test/until.ts'
import { whileReplaced } from '../test/while-replaced.ts'
import { photoFile, thumbnailFile, thumbnailUrl } from './photo.ts'
import { startPhotoWorker } from './photo-worker.ts'
import { claimPhoto } from './photos.ts'
import { takePhoto } from './take-photo.ts'

let app: TestApp
let internet: FakeNetwork
let storage: string
/** The response of photos.example. Reset before each test. */
let respond: RequestListener

beforeAll(async () => {
  storage = await newDirectory()
  internet = fakeNetwork()
  await internet.site('photos.example', (req, res) => respond(req, res))
  app = await startTestApp({
    network: internet,
    settings: { STORAGE_URL: pathToFileURL(storage).href },
  })
})

const PICTURE = await jpeg(600, 300)
const sendPicture: RequestListener = (_, res) => res.end(PICTURE)
beforeEach(async () => {
  respond = sendPicture
  await app.ctx.db`truncate photos`
})

const DAY = 24 * 60 * 60
const at = (name: string) => `http://photos.example/${name}.jpg`
const photosOf = async (listingId: number) =>
  (await app.operator.get(`/operator/v1/listings/${listingId}/photos`)).body.data
const photoOf = async (listingId: number) => (await photosOf(listingId))[0]
const listing = async (id: number) => {
  const [row] = await app.ctx.db<{ photos: string[]; updatedAt: Date }[]>`
    select photos, updated_at as "updatedAt" from listings where id = ${id}
  `
  return row!
}
const advance = (advance_seconds: number) =>
  app.operator.post('/operator/v1/sandbox/clock', { payload: { advance_seconds } })
const storedFiles = () => readdir(path.join(storage, 'photos')).catch(() => [])

describe('a photo', () => {
  it('a photo is fetched, stored and attached to its listing, whose updated_at changes', async () => {
    const id = await insertListingWithPhotos(app, at('1'))
    const before = await listing(id)
    await advance(5)
    await app.runPhotos()

    const { photos, updatedAt } = await listing(id)
    expect(photos).toEqual([expect.stringMatching(/^[\w-]{22}$/)])
    expect(updatedAt.getTime()).toBeGreaterThan(before.updatedAt.getTime())
    const url = thumbnailUrl(app.ctx.config.publicUrl, photos[0]!)
    expect(url).toBe(`https://cards.example/photos/${photos[0]}-thumb.jpg`)
    expect(await photosOf(id)).toEqual([
      {
        photo_url: at('1'),
        status: 'stored',
        error: null,
        url: `https://cards.example/photos/${photos[0]}.jpg`,
        thumbnail_url: url,
        attempts: 1,
        next_attempt_at: null,
      },
    ])
    const { rawPayload } = await app.app.inject(url)
    expect(await sharp(rawPayload).metadata()).toMatchObject({ width: 400, height: 200 })
  })

  it('a photo never moves its listing’s updated_at backwards, even if it is ahead of the clock', async () => {
    const id = await insertListingWithPhotos(app, at('1'))
    // Written by a process whose clock is ahead.
    const ahead = new Date(app.ctx.now().getTime() + DAY * 1000)
    await app.ctx.db`update listings set updated_at = ${ahead} where id = ${id}`
    await app.runPhotos()
    expect(await listing(id)).toEqual({ photos: [expect.any(String)], updatedAt: ahead })
  })

  it('photos keep the order of photo_urls, whichever arrives first', async () => {
    const id = await insertListingWithPhotos(app, at('slow'), at('missing'), at('fast'))
    const arrived = Promise.withResolvers<void>()
    respond = async (req, res) => {
      if (req.url === '/missing.jpg') return res.writeHead(404).end()
      if (req.url === '/slow.jpg') await arrived.promise
      res.end(PICTURE)
    }
    const running = app.runPhotos()
    await until('the fast one is stored', async () => (await listing(id)).photos.length === 1)
    arrived.resolve()
    await running
    const [slow, missing, fast] = await photosOf(id)
    expect([slow.status, missing.status, fast.status]).toEqual(['stored', 'waiting', 'stored'])
    const { photos } = await listing(id)
    expect(photos.map((name) => `https://cards.example/photos/${name}.jpg`)).toEqual([
      slow.url,
      fast.url,
    ])

    respond = sendPicture
    await advance(60)
    await app.runPhotos()
    expect((await photosOf(id)).map(({ status }: { status: string }) => status)).toEqual(
      Array(3).fill('stored'),
    )
    expect((await listing(id)).photos).toHaveLength(3)
    expect((await listing(id)).photos[0]).toBe(photos[0])
    expect((await listing(id)).photos[2]).toBe(photos[1])
  })

  it('a failing photo is attempted at once, after 1 minute and after 10 more minutes, then fails permanently', async () => {
    const id = await insertListingWithPhotos(app, at('1'))
    let requests = 0
    respond = (_, res) => {
      requests++
      res.writeHead(500).end()
    }
    const error = 'The server responded with status 500.'
    for (const [attempts, wait] of [
      [1, 60],
      [2, 600],
    ] as const) {
      const began = Math.floor(app.ctx.now().getTime() / 1000)
      await app.runPhotos()
      const ended = app.ctx.now().getTime() / 1000
      const photo = await photoOf(id)
      expect(photo).toMatchObject({ status: 'waiting', attempts, error, url: null })
      const next = Date.parse(photo.next_attempt_at) / 1000
      expect(next).toBeGreaterThanOrEqual(began + wait)
      expect(next).toBeLessThanOrEqual(ended + wait)
      await advance(wait - 30)
      await app.runPhotos()
      expect(requests).toBe(attempts)
      await advance(31)
    }
    await app.runPhotos()
    expect(requests).toBe(3)
    expect(await photoOf(id)).toMatchObject({
      status: 'failed',
      attempts: 3,
      error,
      next_attempt_at: null,
    })
    await advance(3600)
    await app.runPhotos()
    expect(requests).toBe(3)
    expect((await listing(id)).photos).toEqual([])
  })

  it('a photo that is missing at first is stored by a later attempt', async () => {
    const id = await insertListingWithPhotos(app, at('1'))
    respond = (_, res) => res.writeHead(404).end()
    await app.runPhotos()
    expect(await photoOf(id)).toMatchObject({ error: 'The server responded with status 404.' })
    respond = sendPicture
    await advance(60)
    await app.runPhotos()
    expect(await photoOf(id)).toMatchObject({ status: 'stored', attempts: 2, error: null })
  })

  it.each([
    ['with a private address', 'http://10.0.0.1/1.jpg', /private or reserved address/],
    [
      'whose host name resolves to a private address',
      'http://inside.example/1.jpg',
      /private or reserved/,
    ],
    ['that is a web page', 'http://photos.example/page', /^The file is /],
    ['with endless redirects', 'http://photos.example/round', /redirected more than 3 times/],
    ['that is too large', 'http://photos.example/large', /larger than 10 MB/],
  ])('a photo %s fails permanently at the first attempt', async (_, url, reason) => {
    internet.names.set('inside.example', ['192.168.1.1'])
    respond = (req, res) => {
      if (req.url === '/round') res.writeHead(302, { location: '/round' })
      if (req.url === '/large') res.setHeader('content-length', 1e9)
      res.end(req.url === '/1.jpg' ? PICTURE : '<html>')
    }
    const id = await insertListingWithPhotos(app, url, at('1'))
    await app.runPhotos()
    const [refused, other] = await photosOf(id)
    expect(refused).toMatchObject({
      photo_url: url,
      status: 'failed',
      attempts: 1,
      error: expect.stringMatching(reason),
      url: null,
      thumbnail_url: null,
      next_attempt_at: null,
    })
    expect(other.status).toBe('stored')
    expect((await listing(id)).photos).toHaveLength(1)
  })

  it('with WEBHOOK_ALLOW_PRIVATE a photo is fetched from a private address', async () => {
    const { port } = await startWebServer(sendPicture)
    const local = await startTestApp({ settings: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
    const id = await insertListingWithPhotos(local, `http://127.0.0.1:${port}/1.jpg`)
    await local.runPhotos()
    const { body } = await local.operator.get(`/operator/v1/listings/${id}/photos`)
    expect(body.data).toMatchObject([{ status: 'stored' }])
  })

  it('a photo of a deleted listing is not fetched', async () => {
    const id = await insertListingWithPhotos(app, at('1'))
    let requests = 0
    respond = () => requests++
    await app.ctx.db`update listings set status = 'removed' where id = ${id}`
    await app.runPhotos()
    expect(requests).toBe(0)
    expect(await photoOf(id)).toMatchObject({ status: 'failed', error: 'The listing was deleted.' })
  })

  it('a photo whose listing is deleted during the fetch is not attached, and its files are deleted', async () => {
    const id = await insertListingWithPhotos(app, at('1'))
    const filesBefore = await storedFiles()
    respond = async (_, res) => {
      await app.ctx.db`update listings set status = 'removed' where id = ${id}`
      res.end(PICTURE)
    }
    await app.runPhotos()
    expect(await photoOf(id)).toMatchObject({ status: 'failed', error: 'The listing was deleted.' })
    expect((await listing(id)).photos).toEqual([])
    expect(await storedFiles()).toEqual(filesBefore)
  })

  it('a photo that fails after its listing was deleted during the fetch causes no notice', async () => {
    const seller = await app.seller()
    const id = await insertListing(app.ctx.db, seller.accountId, app.ctx.now())
    await insertPhotos(app.ctx.db, id, [at('1')], app.ctx.now())
    respond = async (_, res) => {
      await app.ctx.db`update listings set status = 'removed' where id = ${id}`
      res.end('no picture')
    }
    await app.runPhotos()
    expect(await photoOf(id)).toMatchObject({ status: 'failed' })
    const member = await app.member(seller.accountId)
    expect((await member.get('/dashboard/api/notices')).body.data).toEqual([])
  })

  it('a photo is retried every ten minutes until it can be stored, the metrics count it, and only the log has the cause', async () => {
    const notStored = async () => {
      const { text } = await app.operator.get('/metrics')
      return sampleValue(text, 'cardstall_files_not_stored_total{kind="photo"}')!
    }
    const before = await notStored()
    const id = await insertListingWithPhotos(app, at('1'))
    const { put } = app.ctx.files
    const filesBefore = await storedFiles()
    const putPicture: typeof put = (name, ...file) =>
      name.endsWith('-thumb.jpg')
        ? Promise.reject(new Error('the disk on 10.1.2.3 is full'))
        : put(name, ...file)
    await whileReplaced(app.ctx.files, { put: putPicture }, async () => {
      for (let attempt = 1; attempt <= 4; attempt++) {
        await app.runPhotos()
        expect(await photoOf(id)).toMatchObject({
          status: 'waiting',
          attempts: 0,
          error: 'The picture could not be stored.',
        })
        if (attempt < 4) await advance(600)
      }
    })
    expect(await storedFiles()).toEqual(filesBefore)
    expect(await notStored()).toBe(before + 4)
    expect(app.logged.findLast(({ message }) => message === 'a photo failed')).toMatchObject({
      err: expect.objectContaining({ message: 'the disk on 10.1.2.3 is full' }),
    })
    await advance(600)
    await app.runPhotos()
    expect(await photoOf(id)).toMatchObject({ status: 'stored', attempts: 1 })
  })
})

describe('an upload that is stored although it fails', () => {
  /** Stores the photo, and loses the response. */
  const whileResponsesAreLost = (work: () => Promise<void>) => {
    const { put } = app.ctx.files
    const losing: typeof put = async (...file) => {
      await put(...file)
      throw new Error('the bucket responded to PUT with 500 InternalError')
    }
    return whileReplaced(app.ctx.files, { put: losing }, work)
  }

  it('the files of an upload whose response was lost are replaced by the next attempt', async () => {
    const filesBefore = await storedFiles()
    const id = await insertListingWithPhotos(app, at('1'))
    await whileResponsesAreLost(async () => {
      for (let attempt = 1; attempt <= 3; attempt++) {
        await app.runPhotos()
        expect(await photoOf(id)).toMatchObject({ status: 'waiting', attempts: 0 })
        await advance(600)
      }
    })
    await app.runPhotos()
    const [name] = (await listing(id)).photos
    const files = [...filesBefore, photoFile(name!), thumbnailFile(name!)]
    expect((await storedFiles()).toSorted()).toEqual(files.toSorted())
  })

  it('the files of an upload whose response was lost are deleted with a photo that could not be fetched again', async () => {
    const filesBefore = await storedFiles()
    const id = await insertListingWithPhotos(app, at('1'))
    await whileResponsesAreLost(app.runPhotos)
    await advance(600)
    respond = (_, res) => res.end('no picture')
    await app.runPhotos()
    expect(await photoOf(id)).toMatchObject({ status: 'failed', attempts: 1 })
    expect(await storedFiles()).toHaveLength(filesBefore.length + 1)
    const reason = { reason: 'The picture shows an address.' }
    await app.operator.post(`/operator/v1/listings/${id}/take-down`, { payload: reason })
    await advance(30 * DAY)
    await runSchedule(app.ctx)
    expect(await photosOf(id)).toEqual([])
    expect(await storedFiles()).toEqual(filesBefore)
  })
})

describe('a claim of a photo', () => {
  it('two processes share the photos, and none is fetched twice', async () => {
    const other = await startTestApp({
      network: internet,
      databaseUrl: app.databaseUrl,
      settings: { STORAGE_URL: pathToFileURL(storage).href },
    })
    const names = Array.from({ length: 10 }, (_, number) => String(number))
    const ids = await Promise.all([
      insertListingWithPhotos(app, ...names.map(at)),
      insertListingWithPhotos(app, ...names.map((name) => at(`b${name}`))),
    ])
    const requested: string[] = []
    let running = 0
    let maxRunning = 0
    respond = (req, res) => {
      requested.push(req.url!)
      maxRunning = Math.max(maxRunning, ++running)
      setImmediate(() => {
        running--
        res.end(PICTURE)
      })
    }
    await Promise.all([app.runPhotos(), other.runPhotos()])
    expect(requested).toHaveLength(20)
    expect(new Set(requested).size).toBe(20)
    expect(maxRunning).toBeLessThanOrEqual(8)
    for (const id of ids) {
      const photos = await photosOf(id)
      expect(photos.map(({ attempts }: { attempts: number }) => attempts)).toEqual(
        Array(10).fill(1),
      )
      expect((await listing(id)).photos).toHaveLength(10)
    }
  })

  it('concurrent claims never return the same photo', async () => {
    await insertListingWithPhotos(
      app,
      ...Array.from({ length: 30 }, (_, number) => at(`${number}`)),
    )
    const claims = await Promise.all(Array.from({ length: 40 }, () => claimPhoto(app.ctx)))
    const claimed = claims.flatMap((photo) => photo?.url ?? [])
    expect([claimed.length, new Set(claimed).size]).toEqual([30, 30])
  })

  it('a claim reads a few photos, however many of a seller who has to wait are due', async () => {
    const { db, begin } = app.ctx
    const urls = Array.from({ length: 3_000 }, (_, number) => at(`${number}`))
    await insertListingWithPhotos(app, ...urls)
    const busy = (await claimPhoto(app.ctx))!.accountId
    await advance(1)
    await insertListingWithPhotos(app, at('other'))
    await db`analyze photos`
    const read = await begin((db) =>
      rowsRead(db, 'photos', async () => {
        expect(await claimPhoto({ ...app.ctx, db }, { after: 0, excluded: [busy] })).toMatchObject({
          url: at('other'),
        })
      }),
    )
    expect(read).toBeLessThan(150)
  })

  it('a claim reads a few photos, however many sellers wait', async () => {
    const id = await insertListingWithPhotos(app)
    await app.ctx.db`
      with sellers as (
        insert into accounts (shop_name, slug, email, created_at)
        select 'Waiting', 'waiting-' || n, n || '@waiting.example', now()
        from generate_series(1, 500) n
        returning id
      )
      insert into photos (listing_id, position, url, account_id, next_attempt_at, created_at)
      select ${id}, row_number() over (), ${at('1')}, id, ${app.ctx.now()}, now()
      from sellers
    `
    await app.ctx.db`vacuum analyze photos`
    const busy: number[] = []
    const read = await inTransaction(app.ctx, (tx) =>
      rowsRead(tx.db, 'photos', async () => {
        for (let claim = 0; claim < 3; claim++) {
          busy.push((await claimPhoto(tx, { after: 0, excluded: busy }))!.accountId)
        }
      }),
    )
    expect(new Set(busy).size).toBe(3)
    expect(read).toBeLessThan(40)
  })

  it('a claim that finds no photo reads few of those that wait for a retry', async () => {
    const urls = Array.from({ length: 3_000 }, (_, number) => at(`${number}`))
    const id = await insertListingWithPhotos(app, ...urls)
    await app.ctx.db`
      update photos set attempts = 1, next_attempt_at = next_attempt_at + interval '1 hour'
      where listing_id = ${id}
    `
    await app.ctx.db`vacuum analyze photos`
    const read = await inTransaction(app.ctx, (tx) =>
      rowsRead(tx.db, 'photos', async () => {
        expect(await claimPhoto(tx)).toBeUndefined()
      }),
    )
    expect(read).toBeLessThan(20)
  })

  it('when a process dies, its photo is claimed again once the lease has expired, and the attempt counts', async () => {
    const id = await insertListingWithPhotos(app, at('1'))
    expect(await claimPhoto(app.ctx)).toMatchObject({ url: at('1'), attempts: 1 })
    await app.runPhotos()
    expect(await photoOf(id)).toMatchObject({ status: 'waiting', attempts: 1 })
    await expireLeases(id)
    await app.runPhotos()
    expect(await photoOf(id)).toMatchObject({ status: 'stored', attempts: 2, error: null })
  })

  it('the lease of a photo is two minutes of real time, however the clock is moved', async () => {
    const id = await insertListingWithPhotos(app, at('1'))
    await claimPhoto(app.ctx)
    await advance(3600)
    await app.runPhotos()
    expect(await photoOf(id)).toMatchObject({ status: 'waiting', attempts: 1 })
    const [lease] = await app.ctx.db`
      select extract(epoch from leased_until - clock_timestamp())::float8 as seconds from photos
    `
    expect(lease!.seconds).toBeGreaterThan(100)
    expect(lease!.seconds).toBeLessThanOrEqual(120)
  })

  it('a photo that crashes its process three times fails permanently', async () => {
    const id = await insertListingWithPhotos(app, at('1'))
    for (const attempts of [1, 2, 3]) {
      expect(await claimPhoto(app.ctx)).toMatchObject({ attempts })
      await expireLeases(id)
    }
    await app.runPhotos()
    expect(await photoOf(id)).toMatchObject({
      status: 'failed',
      attempts: 3,
      error: 'The service stopped during this attempt.',
    })
  })

  it('the seller gets a notice of a photo that crashes its process three times', async () => {
    const seller = await app.seller()
    const id = await insertListing(app.ctx.db, seller.accountId, app.ctx.now())
    await insertPhotos(app.ctx.db, id, [at('1'), at('2')], app.ctx.now())
    for (let attempt = 1; attempt <= 3; attempt++) {
      expect([await claimPhoto(app.ctx), await claimPhoto(app.ctx)]).not.toContain(undefined)
      await expireLeases(id)
    }
    await app.runPhotos()
    const member = await app.member(seller.accountId)
    const reason = 'The service stopped during this attempt.'
    expect((await member.get('/dashboard/api/notices')).body.data).toMatchObject([
      { kind: 'photo_failed', count: 2, data: { listing_id: id, reason } },
    ])
  })

  it.each([
    ['while the next claim is open', false],
    ['after the next claim has stored the photo', true],
  ])('a process whose lease has expired changes nothing %s', async (_, isDone) => {
    const id = await insertListingWithPhotos(app, at('1'))
    let requests = 0
    const slow = Promise.withResolvers<void>()
    respond = async (_, res) => {
      if (++requests === 1) await slow.promise
      res.end(PICTURE)
    }
    const photo = await claimPhoto(app.ctx)
    const first = takePhoto(app.ctx, photo!, new AbortController().signal)
    await until('the first attempt has begun', () => requests === 1)
    await expireLeases(id)
    if (isDone) await app.runPhotos()
    else expect(await claimPhoto(app.ctx)).toMatchObject({ attempts: 2 })
    const before = [await photoOf(id), await listing(id), await storedFiles()]
    expect(before[0]).toMatchObject({ status: isDone ? 'stored' : 'waiting', attempts: 2 })

    await advance(10)
    slow.resolve()
    await first
    expect([await photoOf(id), await listing(id), await storedFiles()]).toEqual(before)
  })
})

describe('the photo worker', () => {
  it('the photo worker fetches at once after a signal and after the clock has moved', async () => {
    const worker = startPhotoWorker(app.ctx, { pollIntervalMs: 1e9 })
    try {
      const id = await insertListingWithPhotos(app)
      await insertPhotos(app.ctx.db, id, [at('1')], app.ctx.now())
      await app.ctx.signal('photos')
      await until('the photo is stored', async () => (await photoOf(id)).status === 'stored')

      respond = (_, res) => res.writeHead(500).end()
      const later = await insertListingWithPhotos(app, at('2'))
      await app.ctx.signal('photos')
      await until('the first attempt has failed', async () => (await photoOf(later)).error !== null)
      respond = sendPicture
      await advance(60)
      await until('the photo is stored', async () => (await photoOf(later)).status === 'stored')
    } finally {
      await worker.stop()
    }
  })

  it('the photo worker finds a photo without a signal', async () => {
    const worker = startPhotoWorker(app.ctx)
    try {
      const id = await insertListingWithPhotos(app, at('1'))
      await until('the photo is stored', async () => (await photoOf(id)).status === 'stored')
    } finally {
      await worker.stop()
    }
  })

  it('the photo worker fetches six photos at a time, and two per seller, so that hanging ones delay no other seller', async () => {
    const hanging = [
      await insertListingWithPhotos(app, at('hang1'), at('hang2'), at('hang3')),
      await insertListingWithPhotos(app, at('hang4'), at('hang5')),
    ]
    const id = await insertListingWithPhotos(
      app,
      ...Array.from({ length: 6 }, (_, number) => at(`${number}`)),
    )
    const hung = new Set<string>()
    const waiting: (() => void)[] = []
    let maxRunning = 0
    respond = (req, res) => {
      if (req.url!.startsWith('/hang')) hung.add(req.url!)
      else waiting.push(() => res.end(PICTURE))
      maxRunning = Math.max(maxRunning, hung.size + waiting.length)
      // Respond once all six requests have arrived, so that they can be counted.
      if (maxRunning === 6) for (const send of waiting.splice(0)) send()
    }
    const worker = startPhotoWorker(app.ctx)
    try {
      await until(
        'the other photos are stored',
        async () => (await listing(id)).photos.length === 6,
      )
      expect(maxRunning).toBe(6)
      expect(hung).toEqual(new Set(['/hang1.jpg', '/hang2.jpg', '/hang4.jpg', '/hang5.jpg']))
    } finally {
      await worker.stop()
    }
    const [three, two] = [await photosOf(hanging[0]!), await photosOf(hanging[1]!)]
    for (const { status } of [...three, ...two]) expect(status).toBe('waiting')
  })

  it('sellers with a photo whose server was slow share three of the six slots, however many photos of theirs wait', async () => {
    const failing: number[] = []
    for (const shop of ['a', 'b', 'c', 'd', 'e', 'f']) {
      failing.push(await insertListingWithPhotos(app, at(`dropped-${shop}`)))
    }
    respond = (req) => req.socket.destroy()
    const hung = new Set<string>()
    const worker = startPhotoWorker(app.ctx, { slowMs: 0 })
    try {
      await until('all have failed', async () => {
        const photos = await Promise.all(failing.map(photoOf))
        return photos.every(({ error }) => error !== null)
      })
      respond = (req, res) => {
        if (req.url!.startsWith('/hang')) hung.add(req.url!)
        else res.end(PICTURE)
      }
      for (const id of failing) {
        // A picture that arrives is not enough for a second slot.
        const urls = ['one', 'hang', 'hang', 'hang'].map((name, n) => at(`${name}-${id}-${n}`))
        await app.ctx.db`delete from photos where listing_id = ${id}`
        await insertPhotos(app.ctx.db, id, urls, app.ctx.now())
      }
      await app.ctx.signal('photos')
      await until('three hang', () => hung.size === 3)
      const id = await insertListingWithPhotos(app, at('1'), at('2'), at('3'))
      await app.ctx.signal('photos')
      await until('the others are stored', async () => (await listing(id)).photos.length === 3)
      expect(new Set([...hung].map((url) => url.split('-')[1])).size).toBe(3)
      expect(hung.size).toBe(3)
    } finally {
      await worker.stop()
    }
  })

  it('a slot goes to the next seller in turn, not to the photo that has waited longest', async () => {
    const many = await Promise.all(
      [1, 2, 3].map((shop) =>
        insertListingWithPhotos(app, ...[1, 2, 3].map((number) => at(`many-${shop}-${number}`))),
      ),
    )
    await advance(1)
    const id = await insertListingWithPhotos(app, at('single'))
    const waiting: (() => void)[] = []
    const requested: string[] = []
    respond = (req, res) => {
      requested.push(req.url!)
      waiting.push(() => res.end(PICTURE))
      if (requested.length >= 6) for (const send of waiting.splice(0)) send()
    }
    await app.runPhotos()
    expect(requested.slice(0, 6)).toContain('/single.jpg')
    for (const other of [...many, id]) expect((await listing(other)).photos).not.toEqual([])
  })

  it('a stopped photo worker releases its photos, and the attempts do not count', async () => {
    const id = await insertListingWithPhotos(app, at('1'))
    let requests = 0
    respond = () => requests++
    const worker = startPhotoWorker(app.ctx)
    await until('the fetch is under way', () => requests === 1)
    await worker.stop()
    expect(await photoOf(id)).toMatchObject({ status: 'waiting', attempts: 0, error: null })
    respond = sendPicture
    await app.runPhotos()
    expect(await photoOf(id)).toMatchObject({ status: 'stored', attempts: 1 })
  })

  it('a photo worker that stops while the storage hangs releases its photos, and their attempts do not count', async () => {
    const id = await insertListingWithPhotos(app, at('1'))
    let puts = 0
    const put = () => {
      puts++
      return new Promise<never>(() => {})
    }
    const hanging = { put, delete: put }
    await whileReplaced(app.ctx.files, hanging, async () => {
      const worker = startPhotoWorker(app.ctx)
      await until('the picture is being stored', () => puts === 1)
      await worker.stop()
    })
    expect(await photoOf(id)).toMatchObject({ status: 'waiting', attempts: 0, error: null })
    await app.runPhotos()
    expect(await photoOf(id)).toMatchObject({ status: 'stored', attempts: 1 })
  })

  it('a photo worker that stops while the storage hangs does not wait for the deletion of the files of a removed listing', async () => {
    const id = await insertListingWithPhotos(app, at('1'))
    respond = async (_, res) => {
      await app.ctx.db`update listings set status = 'removed' where id = ${id}`
      res.end(PICTURE)
    }
    let deletions = 0
    const hanging = () => {
      deletions++
      return new Promise<never>(() => {})
    }
    app.logged.length = 0
    await whileReplaced(app.ctx.files, { delete: hanging }, async () => {
      const worker = startPhotoWorker(app.ctx)
      await until('a file is being deleted', () => deletions === 1)
      await worker.stop()
    })
    expect(app.logged).toContainEqual(
      expect.objectContaining({ message: 'cannot delete an unused file' }),
    )
  })
})

it('the photos of a removed listing are deleted after 30 days, and not before', async () => {
  const id = await insertListingWithPhotos(app, at('1'), at('2'))
  const other = await insertListingWithPhotos(app, at('3'))
  await app.runPhotos()
  const names = (await listing(id)).photos
  const files = names.flatMap((name) => [photoFile(name), thumbnailFile(name)])
  expect(await storedFiles()).toEqual(expect.arrayContaining(files))
  const reason = { reason: 'The picture shows an address.' }
  await app.operator.post(`/operator/v1/listings/${id}/take-down`, { payload: reason })

  await advance(29 * DAY)
  await runSchedule(app.ctx)
  expect(await storedFiles()).toEqual(expect.arrayContaining(files))
  expect(await photosOf(id)).toHaveLength(2)
  await advance(DAY)
  await runSchedule(app.ctx)
  for (const file of files) expect((await app.anyone.get(`/photos/${file}`)).status).toBe(404)
  expect(await photosOf(id)).toEqual([])
  const [kept] = (await listing(other)).photos
  expect(await storedFiles()).toEqual(expect.arrayContaining([photoFile(kept!)]))
})

it('a photo whose file cannot be deleted is tried again a day later, and the others are deleted', async () => {
  const id = await insertListingWithPhotos(app, at('1'), at('2'))
  await app.runPhotos()
  const [first] = (await listing(id)).photos
  const file = path.join(storage, 'photos', photoFile(first!))
  await rm(file)
  await mkdir(file)
  await app.operator.post(`/operator/v1/listings/${id}/take-down`, { payload: { reason: 'Fake.' } })
  await advance(30 * DAY)
  await runSchedule(app.ctx)
  expect(await photosOf(id)).toMatchObject([{ photo_url: at('1') }])
  await rmdir(file)
  await advance(DAY)
  await runSchedule(app.ctx)
  expect(await photosOf(id)).toEqual([])
})

/** Lets the leases of the listing's photos expire. */
const expireLeases = (listingId: number) => app.ctx.db`
  update photos
  set leased_until = clock_timestamp() - interval '1 second'
  where listing_id = ${listingId} and leased_until is not null
`
