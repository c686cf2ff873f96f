import type { RequestListener } from 'node:http'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Sql } from '../database/sql.ts'
import { testDatabase } from '../test/database.ts'
import { startWebServer } from '../test/fakes/network.ts'
import { insertListing, insertPhotos } from '../test/fixtures/listings.ts'
import { jpeg } from '../test/pictures.ts'
import { newDataDir, type Service, type Settings, startService } from '../test/process.ts'
import { until } from '../test/until.ts'

const TOKEN = 'operator-token-for-tests'

describe('a photo being fetched', () => {
  let db: Sql
  let settings: Settings
  let site: { port: number }
  /** The site's response to the next request. */
  let respond: RequestListener
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
      respond(req, res)
    })
  })

  const started = async () => (await startService(settings)).ready()

  /** Adds a photo of a listing and waits until the service is in the middle of fetching it. */
  async function beginFetch(service: Service): Promise<number> {
    respond = (_, res) => res.write('half of it')
    const before = requests
    const accounts = await service.get('/operator/v1/accounts', TOKEN)
    const now = new Date(accounts.body.data[0].created_at)
    const listingId = await insertListing(db, accounts.body.data[0].id, now)
    await insertPhotos(db, listingId, [`http://127.0.0.1:${site.port}/1.jpg`], now)
    await until('the photo is being fetched', () => requests === before + 1)
    return listingId
  }

  /** Starts the next service after the site has recovered. */
  async function expectStored(listingId: number, attempts: number): Promise<Service> {
    const picture = await jpeg()
    respond = (_, res) => res.end(picture)
    const service = await started()
    const photo = await until('the photo is stored', async () => {
      const { body } = await service.get(`/operator/v1/listings/${listingId}/photos`, TOKEN)
      return body.data[0].status === 'stored' && body.data[0]
    })
    expect(photo).toMatchObject({ attempts })
    const { status, headers } = await service.get(new URL(photo.url).pathname)
    expect([status, headers.get('content-type')]).toEqual([200, 'image/jpeg'])
    return service
  }

  let next: Service

  it('after kill -9 the next process fetches the photo once the lease has expired', async () => {
    const killed = await started()
    const listingId = await beginFetch(killed)
    await killed.stop('SIGKILL')
    const [row] = await db`
      select attempts, leased_until > clock_timestamp() as leased from photos where listing_id = ${listingId}
    `
    expect(row).toEqual({ attempts: 1, leased: true })
    // Instead of waiting two minutes for the lease to expire.
    await db`update photos set leased_until = clock_timestamp() where listing_id = ${listingId}`
    next = await expectStored(listingId, 2)
  })

  it('a shutdown releases the photo: the next process fetches it at once, and the attempt does not count', async () => {
    const listingId = await beginFetch(next)
    expect(await next.stop('SIGTERM')).toMatchObject({ code: 0 })
    const [row] = await db`
      select status, attempts, leased_until from photos where listing_id = ${listingId}
    `
    expect(row).toEqual({ status: 'waiting', attempts: 0, leased_until: null })
    await (await expectStored(listingId, 1)).stop()
  })
})
