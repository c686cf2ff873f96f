import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openSignals, signalOnly } from '../database/signals.ts'
import type { Sql } from '../database/sql.ts'
import type { Begin } from '../database/transactions.ts'
import { type Client, startTestApp, type TestApp } from '../test/app.ts'
import {
  CARDS,
  idsOf,
  importCatalogFixture,
  importRecords,
  PRODUCTS,
  SETS,
  slugsOf,
} from '../test/catalog-fixture.ts'
import { testDatabase } from '../test/database.ts'
import { until } from '../test/until.ts'
import { browseCards, browseProducts, browseSets } from './browse.ts'
import { type Catalog, listedCard } from './catalog.ts'
import { findCard, findProduct, findSet } from './identifiers.ts'
import { type CatalogReader, openCatalog } from './reader.ts'

const setOf = (id: string, more = {}) => ({ ...SETS.find((set) => set.id === id)!, ...more })
const cardOf = (id: string, more = {}) => ({ ...CARDS.find((card) => card.id === id)!, ...more })
const productOf = (slug: string, more = {}) => ({
  ...PRODUCTS.find((product) => product.slug === slug)!,
  ...more,
})

/** Everything that requests can see of a catalog snapshot, as text, to compare snapshots. */
const visibleState = (catalog: Catalog) =>
  JSON.stringify({
    series: catalog.series,
    sets: browseSets(catalog, {}).map(({ json }) => json.toString()),
    cards: browseCards(catalog, {}).map(({ set, start, end }) => [
      set.cardBytes.toString('utf8', start, end),
      set.id,
    ]),
    products: browseProducts(catalog, {}).map(({ json }) => json.toString()),
    finds: browseCards(catalog, { q: 'pikachu' }).map(({ id }) => id),
  })

describe('a catalog import', () => {
  let market: TestApp
  let seller: Client
  const current = () => market.ctx.catalog.current
  const importAll = (...records: object[]) => importRecords(market.operator, records)

  beforeAll(async () => {
    market = await startTestApp({ settings: { RATE_LIMIT_READ: '10000' } })
    seller = await market.seller()
  })
  beforeEach(() => importCatalogFixture(market.operator))

  it('a catalog import is visible to requests before its response', async () => {
    await importAll(setOf('sv3', { name: 'Obsidian Embers' }), cardOf('np-1', { name: 'Groudon' }))
    expect((await seller.get('/v1/sets/sv3')).body.data.name).toBe('Obsidian Embers')
    expect((await seller.get('/v1/cards/sv3-1')).body.data.set.name).toBe('Obsidian Embers')
    expect((await seller.get('/v1/cards/np-1')).body.data.name).toBe('Groudon')
    expect(idsOf((await seller.get('/v1/cards?q=groudon')).body.data)).toEqual(['np-1'])
    expect((await seller.get('/v1/cards?q=kyogre')).body.data).toEqual([])
    expect((await seller.get('/v1/sets?q=obsidian+flames')).body.data).toEqual([])
  })

  it('a catalog import reloads only the sets that it changed', async () => {
    const before = current()
    await importAll(
      setOf('sv3', { name: 'Obsidian Embers' }),
      cardOf('g1-1', { name: 'Kakuna' }),
      productOf('celebrations-mini-tin-2', { name: 'Celebrations Maxi Tin' }),
      cardOf('np-1'),
    )
    const replaced = current().sets.filter(({ id }) => {
      return current().setsById.get(id) !== before.setsById.get(id)
    })
    expect(idsOf(replaced)).toEqual(['sv3', 'cel25', 'g1'])
    for (const { id, set } of current().cards) {
      const isSame = before.cardsById.get(id) === current().cardsById.get(id)
      expect([id, isSame]).toEqual([id, !['sv3', 'cel25', 'g1'].includes(set.id)])
    }
  })

  it('a new series or a product without a set reloads no set', async () => {
    const before = current()
    await importAll(
      { type: 'series', name: 'Newest', shortcut: null },
      productOf('poke-ball-tin', { name: 'Great Ball Tin' }),
    )
    expect(current().version).toBeGreaterThan(before.version)
    for (const set of current().sets) expect(set).toBe(before.setsById.get(set.id))
    expect(findProduct(current(), 'poke-ball-tin').name).toBe('Great Ball Tin')
    expect(current().series.map(({ name }) => name)).toContain('Newest')
  })

  it('a catalog import without changes keeps the snapshot', async () => {
    const before = current()
    await importCatalogFixture(market.operator)
    expect(current()).toBe(before)
  })

  it('a catalog import adds a new set with its cards and products', async () => {
    const { operator, ...another } = await startTestApp()
    await importCatalogFixture(operator)
    await importRecords(operator, [
      setOf('sv3', { id: 'sv99', shortcut: 'new', release_date: '2030-01-01' }),
      cardOf('sv3-1', { id: 'sv99-1', set_id: 'sv99' }),
      productOf('obsidian-flames-etb', { slug: 'new-etb', set_id: 'sv99' }),
    ])
    const client = await another.seller()
    expect((await client.get('/v1/sets/new')).body.data).toMatchObject({
      id: 'sv99',
      cards_count: 1,
      products_count: 1,
    })
    expect((await client.get('/v1/cards/new_1')).body.data.id).toBe('sv99-1')
    expect((await client.get('/v1/cards?per_page=1')).body.data[0].id).toBe('sv99-1')
    expect((await client.get('/v1/products?per_page=1')).body.data[0].slug).toBe('new-etb')
  })

  it('a card imported with another set leaves its old set', async () => {
    await importAll(cardOf('swsh9-2', { set_id: 'g1' }))

    const old = (await seller.get('/v1/sets/swsh9?include=cards')).body.data
    expect(idsOf(old.cards)).toEqual(['swsh9-1', 'swsh9-10'])
    expect(old.cards_count).toBe(2)
    const next = (await seller.get('/v1/sets/g1?include=cards')).body.data
    expect(idsOf(next.cards)).toEqual(['g1-1', 'swsh9-2'])
    expect(next.cards_count).toBe(2)

    const card = (await seller.get('/v1/cards/swsh9-2')).body.data
    expect([card.friendly_id, card.set.id, card.set.cards_count]).toEqual(['gen_2', 'g1', 2])
    expect((await seller.get('/v1/cards/gen_2')).body.data.id).toBe('swsh9-2')
    expect((await seller.get('/v1/cards/brs_2')).status).toBe(404)
    const all = idsOf((await seller.get('/v1/cards?per_page=100')).body.data)
    expect(all.filter((id) => id === 'swsh9-2')).toHaveLength(1)
  })

  it('a product imported with another set, or none, leaves its old set', async () => {
    const where = async () => {
      const product = (await seller.get('/v1/products/obsidian-flames-etb')).body.data
      const { body } = await seller.get('/v1/products?per_page=100')
      expect(slugsOf(body.data).filter((slug) => slug === product.slug)).toHaveLength(1)
      const count = async (id: string) =>
        (await seller.get(`/v1/sets/${id}`)).body.data.products_count
      return [product.set?.id ?? null, await count('sv3'), await count('cel25')]
    }
    expect(await where()).toEqual(['sv3', 2, 2])
    await importAll(productOf('obsidian-flames-etb', { set_id: 'cel25' }))
    expect(await where()).toEqual(['cel25', 1, 3])
    await importAll(productOf('obsidian-flames-etb', { set_id: null }))
    expect(await where()).toEqual([null, 1, 2])
    await importAll(productOf('obsidian-flames-etb', { set_id: 'sv3' }))
    expect(await where()).toEqual(['sv3', 2, 2])
  })

  it('a set’s new shortcut changes the friendly ids of its cards', async () => {
    await importAll(setOf('sv3', { shortcut: 'fire' }))
    expect((await seller.get('/v1/cards/fire_125')).body.data.friendly_id).toBe('fire_125')
    expect((await seller.get('/v1/cards/obf_125')).status).toBe(404)
    expect((await seller.get('/v1/sets/obf')).status).toBe(404)
    await importAll(setOf('sv3', { shortcut: null }))
    expect((await seller.get('/v1/cards/sv3-125')).body.data.friendly_id).toBeNull()
    expect((await seller.get('/v1/cards/fire_125')).status).toBe(404)
  })

  it('a set’s new release date moves its cards and products in the lists', async () => {
    await importAll(setOf('np', { release_date: '2031-01-01' }))
    expect(idsOf((await seller.get('/v1/sets?per_page=1')).body.data)).toEqual(['np'])
    expect(idsOf((await seller.get('/v1/cards?per_page=3')).body.data)).toEqual([
      ...['np-1', 'np-2', 'np-10'],
    ])
    expect(slugsOf((await seller.get('/v1/products?per_page=1')).body.data)).toEqual([
      'nintendo-promo-pack',
    ])
  })

  it('a card’s bytes are those of JSON.stringify, whatever characters its texts have', async () => {
    const name = '"}, {"a\\n/\'<é\u2028ガ😀 "visible":true}'
    const card = {
      ...{ id: 'sv3-odd', set_id: 'sv3', name, number: '7"\\', rarity: null, supertype: name },
      ...{ hp: '1"', types: [name, 'a, b'], image_small: null, image_large: null },
    }
    for (const visible of [true, false]) {
      await importAll({ type: 'card', ...card, visible })
      const { start, end, set } = listedCard(current(), card.id)!
      const { set_id: _, id, ...others } = card
      const shown = { id, friendly_id: `${set.shortcut}_7"\\`, ...others }
      const url = `${market.ctx.config.marketplaceUrl}/cards/${id}`
      expect(set.cardBytes.toString('utf8', start, end)).toBe(
        `${JSON.stringify({ ...shown, url }).slice(0, -1)},"set":`,
      )
    }
  })

  it('a catalog import does not change the snapshot of a running request', async () => {
    const { operator, ctx } = await startTestApp()
    await importCatalogFixture(operator)
    const before = ctx.catalog.current
    const visibleBefore = visibleState(before)
    await importRecords(operator, [
      { type: 'series', name: 'Scarlet & Violet', shortcut: 'scvi' },
      setOf('sv3', { name: 'Obsidian Embers', release_date: '1990-01-01', series: 'XY' }),
      setOf('sv3', { id: 'sv99', release_date: '2030-01-01' }),
      cardOf('np-1', { name: 'Pikachu ex', set_id: 'g1' }),
      productOf('poke-ball-tin', { set_id: 'g1' }),
      productOf('nintendo-promo-pack', { set_id: null }),
    ])
    expect(ctx.catalog.current).not.toBe(before)
    expect(visibleState(ctx.catalog.current)).not.toBe(visibleBefore)

    expect(visibleState(before)).toBe(visibleBefore)
    expect(findSet(before, 'obf', {}).name).toBe('Obsidian Flames')
    expect(findCard(before, 'np-1', {}).set.id).toBe('np')
    expect(findProduct(before, 'poke-ball-tin').set).toBeNull()
    expect(before.setsById.has('sv99')).toBe(false)
  })
})

describe('an import by another process', () => {
  it('an import by another process becomes visible without a restart', async () => {
    const here = await startTestApp()
    const there = await startTestApp({ databaseUrl: here.databaseUrl })
    const seller = await here.seller()
    expect((await seller.get('/v1/cards/swsh9-1')).status).toBe(404)

    await importCatalogFixture(there.operator)
    await until('the fixture is visible', async () => {
      return (await seller.get('/v1/cards/np-10')).status === 200
    })
    expect(visibleState(here.ctx.catalog.current)).toBe(visibleState(there.ctx.catalog.current))

    const before = here.ctx.catalog.current
    await importRecords(there.operator, [cardOf('swsh9-1', { name: 'Togepi' })])
    await until('the new name is here', async () => {
      return (await seller.get('/v1/cards/swsh9-1')).body.data.name === 'Togepi'
    })
    const after = here.ctx.catalog.current
    expect(after.setsById.get('swsh9')).not.toBe(before.setsById.get('swsh9'))
    expect(after.setsById.get('sv3')).toBe(before.setsById.get('sv3'))
  })

  it('a process that starts after an import serves it from the start', async () => {
    const first = await startTestApp()
    await importCatalogFixture(first.operator)
    const second = await startTestApp({ databaseUrl: first.databaseUrl })
    expect(visibleState(second.ctx.catalog.current)).toBe(visibleState(first.ctx.catalog.current))
  })
})

describe('CatalogReader.refresh', () => {
  let db: Sql
  let begin: Begin
  let reader: CatalogReader
  const warnings: unknown[] = []

  beforeAll(async () => {
    const database = await testDatabase()
    db = database.db
    begin = database.begin
    await db`insert into series (name) values ('Base')`
    await db`
      insert into sets (id, name, series, language, region, version)
      values ('base1', 'Base', 'Base', 'EN', 'int', 1)
    `
    const log = { warn: (...words: unknown[]) => warnings.push(words) } as never
    const signals = await openSignals(database.url, database.db, log)
    reader = await openCatalog({
      begin: database.begin,
      signals,
      marketplaceUrl: 'https://x.example',
      log,
    })
    await reader.refresh()
    return async () => {
      reader.close()
      await signals.close()
    }
  })

  const name = () => findSet(reader.current, 'base1', {}).name
  const rename = (to: string) => db`
    with raised as (update catalog_version set version = version + 1 returning version)
    update sets set name = ${to}, version = raised.version from raised where id = 'base1'
  `

  it('CatalogReader.refresh resolves after everything committed before the call is loaded', async () => {
    await rename('Renamed')
    expect(name()).not.toBe('Renamed')
    await reader.refresh()
    expect(name()).toBe('Renamed')
  })

  it('CatalogReader.refresh without changes keeps the snapshot', async () => {
    const before = reader.current
    await reader.refresh()
    expect(reader.current).toBe(before)
  })

  it('CatalogReader.refresh during another refresh waits for a new one, which sees later commits', async () => {
    await rename('Old')
    const { first, second, third } = await begin(async (tx) => {
      // The reader reads the version, then the series, where it has to wait.
      await tx`lock table series in access exclusive mode`
      const first = reader.refresh()
      await until('the reader waits for the lock', async () => {
        const [row] = await db<{ waiting: boolean }[]>`
          select exists (
            select
            from pg_locks
            where
              relation = 'series'::regclass
              and database = (select oid from pg_database where datname = current_database())
              and not granted
          ) as waiting
        `
        return row!.waiting
      })
      await rename('New')
      return { first: [first], second: [reader.refresh()], third: [reader.refresh()] }
    })
    await first[0]
    expect(name()).toBe('Old')
    await second[0]
    expect(name()).toBe('New')
    await third[0]
    await reader.refresh()
    expect(name()).toBe('New')
  })

  it('the snapshot includes the items of listings after one refresh, and an item that the database lacks causes one refresh for each version of the catalog', async () => {
    let refreshes = 0
    const counted = await openCatalog({
      begin: (...work) => {
        refreshes++
        return begin(...work)
      },
      signals: { on: () => () => {} },
      marketplaceUrl: 'https://x.example',
      log: {} as never,
    })
    const include = async (...ids: string[]) => {
      await counted.include(ids.map((cardId) => ({ cardId, productSlug: null })))
      return refreshes
    }
    const insert = (id: string) => db`
      with
        raised as (update catalog_version set version = version + 1 returning version),
        changed as (
          update sets set version = raised.version from raised where id = 'base1'
        )
      insert into cards (id, set_id, name, number) values (${id}, 'base1', 'New', ${id})
    `
    await insert('new-1')
    expect(await include('new-1')).toBe(1)
    expect(counted.current.cardsById.has('new-1')).toBe(true)
    expect(await include('new-1')).toBe(1)
    expect(await include('new-1', 'gone')).toBe(2)
    expect(await include('gone')).toBe(2)
    expect(await include('gone', 'gone too')).toBe(3)
    await insert('new-2')
    expect(await include('gone')).toBe(3)
    expect(await include('gone', 'new-2')).toBe(4)
    expect(counted.current.cardsById.has('new-2')).toBe(true)
    expect(await include('gone', 'gone too')).toBe(5)
    expect(await include('gone', 'gone too')).toBe(5)
    counted.close()
  })

  it('a catalog that lost its last import in a failover is read again as it is', async () => {
    await rename('Kept')
    await reader.refresh()
    await rename('Lost')
    await reader.refresh()
    await db`
      with lowered as (update catalog_version set version = version - 1 returning version)
      update sets set name = 'Kept', version = lowered.version from lowered where id = 'base1'
    `
    await reader.refresh()
    expect(name()).toBe('Kept')
  })

  it('a failed refresh rejects, keeps the snapshot and does not block the next refresh', async () => {
    const before = reader.current
    await rename('After the failure')
    await db`alter table series rename to series_hidden`
    const [first, second] = await Promise.allSettled([reader.refresh(), reader.refresh()])
    expect([first.status, second.status]).toEqual(['rejected', 'rejected'])
    expect(reader.current).toBe(before)

    await db`alter table series_hidden rename to series`
    await reader.refresh()
    expect(name()).toBe('After the failure')
  })

  it('a refresh caused by a signal is retried until it succeeds, with a warning', async () => {
    warnings.length = 0
    const before = name()
    await db`alter table series rename to series_hidden`
    await rename('After the notice')
    await signalOnly(db)('catalog')
    await until('the failure has been logged', () => warnings.length > 0)
    expect(warnings.at(-1)).toEqual([
      { err: expect.any(Error) },
      'cannot reload the catalog; retrying',
    ])
    expect(name()).toBe(before)
    await db`alter table series_hidden rename to series`
    await until('the new name is here', () => name() === 'After the notice')
  })

  it('a refresh that fails after its reader was closed is neither logged nor retried', async () => {
    warnings.length = 0
    const reads: Promise<unknown>[] = []
    const { promise: isRead, resolve } = Promise.withResolvers<void>()
    let notify = () => {}
    const closing = await openCatalog({
      begin: (...read) => {
        const result = begin(...read)
        reads.push(result)
        resolve()
        return result
      },
      signals: {
        on(_topic, notified) {
          notify = notified
          return () => {}
        },
      },
      marketplaceUrl: 'https://x.example',
      log: { warn: (...words: unknown[]) => warnings.push(words) } as never,
    })
    await db`alter table series rename to series_hidden`
    notify()
    await isRead
    closing.close()
    const [read] = await Promise.allSettled(reads)
    await sleep(1_200)
    await db`alter table series_hidden rename to series`
    expect(read!.status).toBe('rejected')
    expect(warnings).toEqual([])
    expect(reads).toHaveLength(1)
  })
})
