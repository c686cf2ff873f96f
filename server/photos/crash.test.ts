import type { RequestListener } from 'node:http'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import type { Sql } from '../database/sql.ts'
import { testDatabase } from '../test/database.ts'
import { startWebServer } from '../test/fakes/network.ts'
import { insertListing, insertPhotos } from '../test/fixtures/listings.ts'
import { jpeg } from '../test/pictures.ts'
import { newDataDir, type Service, type Settings, startService } from '../test/process.ts'
import { until } from '../test/until.ts'

// Whole processes, on a machine that may have other things to do.
vi.setConfig({ testTimeout: 120_000 })

const TOKEN = 'operator-token-for-tests'

describe('a photo on its way', () => {
  let db: Sql
  let settings: Settings
  let site: { port: number }
  /** What the site does with the next request, and how many there were. */
  let answer: RequestListener
  let requests = 0

  beforeAll(async () => {
    const database = await testDatabase('product')
    db = database.db
    settings = {
      DATABASE_URL: database.url,
      DATA_DIR: newDataDir(),
      SANDBOX: 'true',
      OPERATOR_TOKEN: TOKEN,
      WEBHOOK_ALLOW_PRIVATE: 'true',
    }
    site = await startWebServer((req, res) => {
      requests++
      answer(req, res)
    })
  })

  /** A service that is in the middle of fetching a photo of this listing. */
  async function midFetch(): Promise<{ service: Service; listingId: number }> {
    answer = (_, res) => res.write('half of it')
    const before = requests
    const service = await (await startService(settings)).ready()
    const accounts = await service.get('/operator/v1/accounts', TOKEN)
    const now = new Date(accounts.body.data[0].created_at)
    const listingId = await insertListing(db, accounts.body.data[0].id, now)
    await insertPhotos(db, listingId, [`http://127.0.0.1:${site.port}/1.jpg`], now)
    await until('it is being fetched', () => requests === before + 1)
    return { service, listingId }
  }

  /** Starts the service again, on a site that has recovered. */
  async function expectStored(listingId: number, attempts: number): Promise<void> {
    const picture = await jpeg()
    answer = (_, res) => res.end(picture)
    const service = await (await startService(settings)).ready()
    const photo = await until('it is stored', async () => {
      const { body } = await service.get(`/operator/v1/listings/${listingId}/photos`, TOKEN)
      return body.data[0].status === 'stored' && body.data[0]
    })
    expect(photo).toMatchObject({ attempts })
    const { status, headers } = await service.get(new URL(photo.url).pathname)
    expect([status, headers.get('content-type')]).toEqual([200, 'image/jpeg'])
    await service.stop()
  }

  it('survives kill -9: the next process takes it up when the lease has run out', async () => {
    const { service, listingId } = await midFetch()
    await service.stop('SIGKILL')
    const [left] = await db`
      select attempts, leased_until > clock_timestamp() as leased from photos where listing_id = ${listingId}
    `
    expect(left).toEqual({ attempts: 1, leased: true })
    // Rather than waiting two minutes.
    await db`update photos set leased_until = clock_timestamp() where listing_id = ${listingId}`
    await expectStored(listingId, 2)
  })

  it('is given back at a shutdown: the next process goes on at once, and the try does not count', async () => {
    const { service, listingId } = await midFetch()
    expect(await service.stop('SIGTERM')).toMatchObject({ code: 0 })
    const [left] = await db`
      select status, attempts, leased_until from photos where listing_id = ${listingId}
    `
    expect(left).toEqual({ status: 'waiting', attempts: 0, leased_until: null })
    await expectStored(listingId, 1)
  })
})
