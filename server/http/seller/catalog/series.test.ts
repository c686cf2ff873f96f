import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, startTestApp, type TestApp } from '../../../test/app.ts'
import { importRecords } from '../../../test/catalog-fixture.ts'

describe('GET /v1/series', () => {
  let app: TestApp
  let seller: Client
  beforeAll(async () => {
    app = await startTestApp({ template: 'fixture' })
    seller = await app.seller()
  })

  it('GET /v1/series counts the sets of each series in all languages, largest first, then by name', async () => {
    const { status, body } = await seller.get('/v1/series')
    expect(status).toBe(200)
    expect(body).toEqual({
      data: [
        { name: 'Sword & Shield', shortcut: 'swsh', sets_count: 7 },
        { name: 'Scarlet & Violet', shortcut: 'sv', sets_count: 4 },
        { name: 'NP', shortcut: 'np', sets_count: 2 },
        { name: 'Other', shortcut: null, sets_count: 2 },
        { name: 'EX', shortcut: 'ex', sets_count: 1 },
        { name: 'Gym', shortcut: 'gym', sets_count: 1 },
        { name: 'XY', shortcut: 'xy', sets_count: 1 },
        { name: 'World Championships', shortcut: 'wc', sets_count: 0 },
      ],
    })
  })

  it('GET /v1/series gives a series its name, shortcut and count only', async () => {
    const { body } = await seller.get('/v1/series')
    for (const series of body.data) {
      expect(Object.keys(series)).toEqual(['name', 'shortcut', 'sets_count'])
    }
  })

  it('GET /v1/series returns all series, whatever the page parameters', async () => {
    const whole = await seller.get('/v1/series')
    for (const query of ['?page=2', '?page=0', '?per_page=1', '?language=JP&q=sword']) {
      const { status, body } = await seller.get(`/v1/series${query}`)
      expect([query, status, body]).toEqual([query, 200, whole.body])
    }
  })

  it('GET /v1/series is empty while the catalog is empty', async () => {
    const empty = await startTestApp()
    const { status, body } = await (await empty.seller()).get('/v1/series')
    expect([status, body]).toEqual([200, { data: [] }])
  })

  it('GET /v1/series follows catalog imports', async () => {
    const { operator, ...app } = await startTestApp()
    const client = await app.seller()
    const seriesNow = async () => (await client.get('/v1/series')).body.data

    await importRecords(operator, [
      { type: 'set', id: 'a', name: 'A', series: 'New', language: 'EN', region: 'int' },
    ])
    expect(await seriesNow()).toEqual([{ name: 'New', shortcut: null, sets_count: 1 }])

    await importRecords(operator, [
      { type: 'series', name: 'New', shortcut: 'nw' },
      { type: 'set', id: 'a', name: 'A', series: 'Newer', language: 'EN', region: 'int' },
    ])
    expect(await seriesNow()).toEqual([
      { name: 'Newer', shortcut: null, sets_count: 1 },
      { name: 'New', shortcut: 'nw', sets_count: 0 },
    ])
  })
})
