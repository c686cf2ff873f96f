import { pino } from 'pino'
import { browseCards, type CardFilters } from '../server/catalog/browse.ts'
import type { Catalog } from '../server/catalog/catalog.ts'
import { readCatalog } from '../server/catalog/reader.ts'
import { startEmbedded } from '../server/database/embedded/embedded.ts'
import { transactionsOn } from '../server/database/transactions.ts'
import { type Figure, median, quantile } from './report.ts'

const QUERIES_PER_KIND = 400
const TARGET_MS = 1

/** Measures `browseCards` for each kind of query. Every query is different, because results are cached. */
export async function measureSearch(dataDir: string): Promise<Figure[]> {
  const catalog = await openCatalog(dataDir)
  const kinds = makeQueries(catalog)
  const times = new Map<string, number[]>(Object.keys(kinds).map((kind) => [kind, []]))
  for (let i = 0; i < QUERIES_PER_KIND; i++) {
    for (const [kind, queries] of Object.entries(kinds)) {
      const began = performance.now()
      browseCards(catalog, queries[i]!)
      const ms = performance.now() - began
      // The first tenth is a warm-up.
      if (i >= QUERIES_PER_KIND / 10) times.get(kind)!.push(ms)
    }
  }
  const all = [...times.values()].flat()
  const figures: Figure[] = [...times].map(([kind, values]) => ({
    name: `search by ${kind}, median`,
    value: median(values),
    unit: 'ms',
    below: TARGET_MS,
  }))
  return [
    ...figures,
    { name: 'search, all kinds, median', value: median(all), unit: 'ms', below: TARGET_MS },
    { name: 'search, all kinds, p99', value: quantile(all, 0.99), unit: 'ms' },
  ]
}

async function openCatalog(dataDir: string): Promise<Catalog> {
  const database = await startEmbedded({ dataDir })
  const { begin, end } = transactionsOn(database.url, 1)
  try {
    const reader = await readCatalog({
      begin,
      signals: { on: () => () => {} },
      marketplaceUrl: 'http://localhost',
      log: pino({ level: 'silent' }),
    })
    reader.close()
    return reader.current
  } finally {
    await end()
    await database.stop()
  }
}

/** Makes realistic queries from the catalog's names; the same catalog always has the same queries. */
function makeQueries(catalog: Catalog): Record<string, CardFilters[]> {
  const random = randomness()
  const names = [...new Set(catalog.cards.map((card) => card.name))]
  const latin = names.filter((name) => /^[a-z]{5}/i.test(name))
  const others = names.filter((name) => /^\p{L}{3}/u.test(name) && !/[a-z]/i.test(name))
  const pick = (from: string[]) => from[Math.floor(random() * from.length)]!
  const distinct = (make: () => CardFilters): CardFilters[] => {
    const made = new Map<string, CardFilters>()
    while (made.size < QUERIES_PER_KIND) {
      const filters = make()
      made.set(JSON.stringify(filters), filters)
    }
    return [...made.values()]
  }
  return {
    'whole name': distinct(() => ({ q: pick(names) })),
    'beginning of a name': distinct(() => ({ q: pick(latin).slice(0, 3 + random() * 3) })),
    'name with filters': distinct(() => ({
      q: pick(latin).split(' ')[0]!,
      language: 'EN',
      rarity: pick(RARITIES),
    })),
    'mistyped name': distinct(() => ({ q: mistyped(pick(latin), random) })),
    'part of an Asian name': distinct(() => ({ q: pick(others).slice(1, 3) })),
  }
}

const RARITIES = ['Common', 'Uncommon', 'Rare', 'Rare Holo', 'Promo']

/** Drops a letter, or swaps two. */
function mistyped(name: string, random: () => number): string {
  const at = 1 + Math.floor(random() * 3)
  const [first, second] = [name[at]!, name[at + 1]!]
  return name.slice(0, at) + (random() < 0.5 ? second : second + first) + name.slice(at + 2)
}

/** Numbers from 0 to 1 in an order that is always the same (mulberry32). */
function randomness(): () => number {
  let state = 1
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
