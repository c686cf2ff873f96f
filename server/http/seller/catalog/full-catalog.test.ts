import { readFile } from 'node:fs/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, startTestApp, type TestApp } from '../../../test/app.ts'
import { importRecords } from '../../../test/catalog-fixture.ts'
import { NO_LIMITS } from '../../../test/fixtures/listings.ts'
import { allRecords } from '../../../test/walk.ts'

// All bundled catalogs together. Some of their sets have a shortcut that is the canonical id of another set.

type ListedSet = { id: string; shortcut: string | null; language: string; region: string }

let app: TestApp
let client: Client
let sets: ListedSet[]
beforeAll(async () => {
  app = await startTestApp({ template: 'catalog', settings: NO_LIMITS })
  for (const region of ['europe', 'asia']) {
    const { body, text } = await app.operator.post('/operator/v1/catalog/import', {
      headers: { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' },
      payload: await readFile(new URL(`../../../../catalog/${region}.ndjson.gz`, import.meta.url)),
    })
    if (body?.data.rejected !== 0) throw new Error(`The import failed: ${text}`)
  }
  client = await app.seller()
  sets = await allRecords(client, '/v1/sets?per_page=100')
})

const setOf = async (identifier: string, narrowing: object = {}): Promise<string> => {
  const query = new URLSearchParams({ ...narrowing })
  const { status, body } = await client.get(`/v1/sets/${encodeURIComponent(identifier)}?${query}`)
  return status === 200 ? body.data.id : body.error.type
}

/** The sets of the cards on the first page of this `set` filter. */
const filteredSetsOf = async (identifier: string, narrowing: object): Promise<string[]> => {
  const query = new URLSearchParams({ set: identifier, ...narrowing })
  const { body } = await client.get(`/v1/cards?${query}`)
  return [...new Set<string>(body.data.map((card: { set: ListedSet }) => card.set.id))]
}

describe('sets whose shortcut is another set’s canonical id', () => {
  const byId = (id: string) => sets.find((set) => set.id === id)
  const shadowed = () =>
    sets.filter(({ id, shortcut }) => shortcut !== null && shortcut !== id && byId(shortcut))
  /** True if the set with the canonical id has the same language and region. */
  const isTwin = ({ shortcut, language, region }: ListedSet) => {
    const canonical = byId(shortcut!)!
    return canonical.language === language && canonical.region === region
  }

  it('39 sets have a shortcut that is a canonical id; all but Gym Heroes differ in language or region', () => {
    expect(shadowed()).toHaveLength(39)
    expect(shadowed().filter(isTwin)).toMatchObject([{ id: 'gym1', shortcut: 'g1' }])
  })

  it('a set whose shortcut is a canonical id is found by shortcut, language and region, with its cards', async () => {
    for (const { id, shortcut, language, region } of shadowed()) {
      const isReachable = !isTwin(byId(id)!)
      const expected = isReachable ? id : shortcut!
      expect(await setOf(shortcut!, { language, region })).toBe(expected)
      const { meta } = (await client.get(`/v1/cards?set=${encodeURIComponent(id)}`)).body
      const filtered = await filteredSetsOf(shortcut!, { language, region })
      expect(filtered).toEqual(meta.total > 0 || !isReachable ? [expected] : [])
    }
  })

  it('a set whose shortcut is a canonical id is found by shortcut and language if it is the only one', async () => {
    for (const { id, shortcut, language } of shadowed()) {
      const sharing = sets.filter((set) => set.shortcut === shortcut && set.language === language)
      const isOnly = sharing.length === 1 && byId(shortcut!)!.language !== language
      expect(await setOf(shortcut!, { language })).toBe(isOnly ? id : shortcut)
    }
  })

  it('a canonical id wins over an equal shortcut when language and region do not rule it out', async () => {
    for (const { shortcut } of shadowed()) {
      const { language, region } = byId(shortcut!)!
      for (const narrowing of [{}, { language }, { region }, { language, region }]) {
        expect(await setOf(shortcut!, narrowing)).toBe(shortcut)
      }
      expect(await setOf(shortcut!, { language: 'ES' })).toBe(shortcut)
    }
  })
})

it('every set is found by its canonical id', async () => {
  for (const { id } of sets) expect(await setOf(id)).toBe(id)
})

describe('cards whose friendly id is another card’s canonical id', () => {
  const resolved = async (query: string): Promise<string> =>
    (await client.get(`/v1/cards/shadow_1${query}`)).body.data.id

  const listed = async (language_hint?: string): Promise<string> => {
    const item = { card: 'shadow_1', condition: 'NM', language: 'EN', price: 1, quantity: 1 }
    await client.post('/v1/listings', { payload: { items: [{ ...item, language_hint }] } })
    return (await client.get('/v1/listings?per_page=1')).body.data[0].listable.id
  }

  beforeAll(async () => {
    const set = (id: string, shortcut: string | null, language: string) => ({
      ...{ type: 'set', id, shortcut, name: id, series: 'X', language, region: 'int' },
    })
    await importRecords(app.operator, [
      set('plain', null, 'EN'),
      { type: 'card', id: 'shadow_1', set_id: 'plain', name: 'Canonical', number: '9' },
      set('first', 'shadow', 'DE'),
      { type: 'card', id: 'first-1', set_id: 'first', name: 'German', number: '1' },
      set('second', 'shadow', 'FR'),
      set('third', 'shadow', 'FR'),
      { type: 'card', id: 'second-1', set_id: 'second', name: 'French', number: '1' },
      { type: 'card', id: 'third-1', set_id: 'third', name: 'French', number: '1' },
    ])
  })

  it.each([
    ['', 'shadow_1'],
    ['?language=EN', 'shadow_1'],
    ['?language=DE', 'first-1'],
    ['?language=DE&region=int', 'first-1'],
    ['?language=DE&region=jp', 'shadow_1'],
    ['?language=FR', 'shadow_1'],
    ['?language=JP', 'shadow_1'],
  ])('GET /v1/cards/shadow_1%s resolves to %s', async (query, id) => {
    expect(await resolved(query)).toBe(id)
  })

  it('a card whose friendly id is another canonical id is listed by language_hint', async () => {
    expect(await listed()).toBe('shadow_1')
    expect(await listed('DE')).toBe('first-1')
    expect(await listed('FR')).toBe('shadow_1')
  })
})
