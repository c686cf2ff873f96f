import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, startTestApp } from '../../../test/app.ts'
import { idsOf, slugsOf } from '../../../test/catalog-fixture.ts'
import { allRecords } from '../../../test/walk.ts'

// The catalog that every new installation imports.

let client: Client
beforeAll(async () => {
  const market = await startTestApp({ template: 'catalog', settings: { RATE_LIMIT_READ: '10000' } })
  client = await market.seller()
})

describe('the bundled catalog', () => {
  it('the bundled catalog has 172 sets, 20,106 cards and 390 sealed products', async () => {
    expect((await client.get('/v1/sets')).body.meta.total).toBe(172)
    expect((await client.get('/v1/cards')).body.meta.total).toBe(20_106)
    expect((await client.get('/v1/products')).body.meta.total).toBe(390)
  })

  it('the bundled catalog has the published series shortcuts, and series without one', async () => {
    const series: ListedSeries[] = (await client.get('/v1/series')).body.data
    const shortcuts = series.map(({ shortcut }) => shortcut)
    expect(shortcuts.filter((shortcut) => shortcut !== null).sort()).toEqual(
      'base bw dp ecard ex gym hgss me neo np pl pop sm sv swsh xy'.split(' '),
    )
    expect(shortcuts).toContain(null)
    const counts = series.map(({ sets_count }) => sets_count)
    expect(counts).toEqual(counts.toSorted((a, b) => b - a))
    expect(counts.reduce((sum, count) => sum + count)).toBe(172)
  })

  it('paging shows each set once, newest first, then by name and id', async () => {
    const sets: ListedSet[] = await allRecords(client, '/v1/sets?per_page=9')
    expect(new Set(idsOf(sets)).size).toBe(172)
    expectSorted(sets, (a, b) => {
      return newestFirst(a, b) || byText(a.name, b.name) || byText(a.id, b.id)
    })
  })

  it('paging shows each card once, newest set first, then by natural number and id', async () => {
    const cards: ListedCard[] = await allRecords(client, '/v1/cards?per_page=100')
    expect(cards).toHaveLength(20_106)
    expect(new Set(idsOf(cards)).size).toBe(20_106)
    expectSorted(cards, (a, b) => {
      return newestFirst(a.set, b.set) || naturally(a.number, b.number) || byText(a.id, b.id)
    })
  })

  it('paging shows each product once, newest set first, then by name and slug', async () => {
    const products: ListedProduct[] = await allRecords(client, '/v1/products?per_page=7')
    expect(new Set(slugsOf(products)).size).toBe(390)
    expectSorted(products, (a, b) => {
      return newestFirst(a.set, b.set) || byText(a.name, b.name) || byText(a.slug, b.slug)
    })
  })

  it('language and region narrow a friendly id: one of two examples stays ambiguous', async () => {
    const unique = await client.get('/v1/cards/brs_TG12?language=EN')
    expect(unique.body.data.id).toBe('swsh9tg-TG12')
    const shared = await client.get('/v1/cards/cel_15?language=EN&region=int')
    expect(shared.status).toBe(409)
    expect(shared.body.error.fields.candidates).toHaveLength(5)
  })
})

describe('search in the bundled catalog', () => {
  const names = async (q: string): Promise<string[]> => {
    const { body } = await client.get(`/v1/cards?per_page=100&q=${encodeURIComponent(q)}`)
    return body.data.map((card: ListedCard) => card.name)
  }

  it('a search for the typo “charzard” ranks Charizard above names that contain it', async () => {
    const all = await names('charzard')
    const called = all.lastIndexOf('Charizard') + 1
    expect(called).toBeGreaterThan(5)
    expect(all.slice(0, called)).toEqual(Array(called).fill('Charizard'))
  })

  it('a search for “poke” finds Pokémon', async () => {
    const all: ListedCard[] = await allRecords(client, '/v1/cards?per_page=100&q=poke')
    expect(all.some(({ name }) => name.startsWith('Pokémon '))).toBe(true)
    expect(all[0]!.name).toMatch(/^Poké/)
  })

  it.each([
    ["farfetch'd", "Farfetch'd"],
    ['farfetchd', "Farfetch'd"],
    ['nidoran ♀', 'Nidoran ♀'],
    ['NIDORAN♂', 'Nidoran ♂'],
    ['pikachu v', 'Pikachu V'],
    ['professor oak', 'Professor Oak'],
    ['flabebe', 'Flabébé'],
    ['ho oh', 'Ho-Oh'],
  ])('a search for "%s" ranks the cards called %s first', async (q, name) => {
    const all = await names(q)
    const called = all.filter((each) => each === name).length
    expect(called).toBeGreaterThan(0)
    expect(all.slice(0, called)).toEqual(Array(called).fill(name))
  })

  it('search also finds sets and sealed products', async () => {
    const sets = await client.get('/v1/sets?q=brilliant+stars')
    expect(sets.body.data[0].id).toBe('swsh9')
    const products = await client.get('/v1/products?q=brilliant+stars+booster+box')
    expect(products.body.data[0].slug).toBe('brilliant-stars-booster-box')
  })
})

type ListedSeries = { shortcut: string | null; sets_count: number }
type ListedSet = { id: string; name: string; release_date: string | null }
type ListedCard = { id: string; name: string; number: string; set: ListedSet }
type ListedProduct = { slug: string; name: string; set: ListedSet | null }

// An independent implementation of the documented sort orders.

function expectSorted<T>(records: T[], order: (a: T, b: T) => number): void {
  const outOfOrder = records.filter((record, i) => i > 0 && order(records[i - 1]!, record) >= 0)
  expect(outOfOrder).toEqual([])
}

const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

const newestFirst = (a: ListedSet | null, b: ListedSet | null) =>
  byText(b?.release_date ?? '', a?.release_date ?? '')

function naturally(a: string, b: string): number {
  const [partsA, partsB] = [a, b].map((number) => number.match(/\d+|\D/g) ?? [])
  for (let i = 0; i < Math.max(partsA!.length, partsB!.length); i++) {
    const [partA, partB] = [partsA![i] ?? '', partsB![i] ?? '']
    const areNumbers = /^\d/.test(partA) && /^\d/.test(partB)
    const order = areNumbers ? Number(partA) - Number(partB) : byText(partA, partB)
    if (order !== 0) return order
  }
  return 0
}
