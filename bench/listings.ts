import { join } from 'node:path'
import { type Comparison, showComparisons } from './compare.ts'
import { type SqlScenario, showGrowth, sqlBench } from './compare-sql.ts'
import { type Market, openMarket } from './market.ts'
import { type Figure, showFigures } from './report.ts'
import { type Service, startService } from './service.ts'

const PER_PAGE = 30
const SELLERS_LISTINGS = 50_000
const ITEMS = 100
const INITIAL = { listings: 200_000, sellers: 2_000 }
const GROWN = { listings: 2_000_000, sellers: 20_000 }
const GROWTH = {
  title: 'ten times the listings of others',
  from: '200,000',
  to: '2,000,000',
  atMost: 1.3,
}
const MAX_LAST_PAGE_SLOWDOWN = 2

/**
 * Compares typical requests of sellers' tools with the same SQL alone, and repeats them when other sellers have ten
 * times as many listings.
 */
export async function benchListings(folder: string): Promise<void> {
  const dataDir = join(folder, 'listings')
  const service = await startService(dataDir)
  const market = await openMarket(service, dataDir)
  const bench = sqlBench(service, market.url)
  const compareAll = () => bench.compareAll(scenarios(service, market))
  try {
    await market.growTo(INITIAL.listings, INITIAL.sellers)
    const comparisons = await compareAll()
    console.log(`${showComparisons('listings', comparisons)}\n`)
    const stalls = await measureStalls(service, market)
    console.log(`${showFigures([lastPageSlowdown(comparisons), ...stalls])}\n`)

    await market.growTo(GROWN.listings, GROWN.sellers)
    console.log(`${showGrowth(GROWTH, comparisons, await compareAll())}\n`)
  } finally {
    bench.close()
    await market.close()
    await service.stop()
  }
}

function scenarios(service: Service, market: Market): SqlScenario[] {
  const { sellerId, cardId, popularCardId, writer, cardIds } = market
  const lastPage = Math.ceil(SELLERS_LISTINGS / PER_PAGE)
  const page = (number: number) => [{ path: `/v1/listings?page=${number}` }]
  const own = { key: service.key, atLeast: 0.6 }
  const offsetOf = (number: number) => (number - 1) * PER_PAGE
  return [
    {
      ...own,
      name: 'own listings, first page',
      requests: page(1),
      work: { kind: 'page', accountId: sellerId, offset: 0 },
    },
    {
      ...own,
      name: 'own listings, last page',
      requests: page(lastPage),
      work: { kind: 'page', accountId: sellerId, offset: offsetOf(lastPage) },
    },
    {
      ...own,
      name: 'own listings of a card',
      requests: [{ path: `/v1/listings?card=${cardId}` }],
      work: { kind: 'page', accountId: sellerId, cardId, offset: 0 },
    },
    {
      name: 'embed of 20,000 listings',
      key: service.key,
      requests: [{ path: `/v1/cards/${popularCardId}?include=listings` }],
      work: { kind: 'offers', cardId: popularCardId },
      connections: 4,
      runMs: 5_000,
    },
    {
      name: 'bulk create of 100',
      atLeast: 0.5,
      key: writer.key,
      requests: [{ path: '/v1/listings', method: 'POST', body: bulkBody(cardIds) }],
      work: { kind: 'insert', accountId: writer.id, cardIds: cardIds.slice(0, ITEMS) },
      runMs: 3_000,
    },
    {
      name: 'change of a price',
      key: writer.key,
      requests: [2.5, 3.5].flatMap((price) =>
        writer.listingIds.map((id) => ({
          path: `/v1/listings/${id}`,
          method: 'PATCH',
          body: JSON.stringify({ price }),
        })),
      ),
      work: { kind: 'update', accountId: writer.id, listingIds: writer.listingIds },
    },
  ]
}

const bulkBody = (cardIds: string[]) =>
  JSON.stringify({
    items: cardIds.slice(0, ITEMS).map((card, i) => ({
      card,
      condition: 'NM',
      language: 'EN',
      price: (100 + i) / 100,
      quantity: 3,
    })),
  })

/** Measures the longest wait of a small request while a card is requested with all its listings. */
async function measureStalls(service: Service, market: Market): Promise<Figure[]> {
  const get = async (path: string) => {
    const headers = { authorization: `Bearer ${service.key}` }
    const response = await fetch(`http://127.0.0.1:${service.port}${path}`, { headers })
    return (await response.arrayBuffer()).byteLength
  }
  let busy = true
  const waits: number[] = []
  const small = (async () => {
    while (busy) {
      const began = performance.now()
      await get('/v1/me')
      waits.push(performance.now() - began)
    }
  })()
  const path = `/v1/cards/${market.popularCardId}?include=listings`
  let bytes = 0
  for (let i = 0; i < 10; i++) bytes = await get(path)
  busy = false
  await small
  return [
    { name: 'size of the embed', value: bytes / 1024 / 1024, unit: 'MiB' },
    { name: 'longest wait of a concurrent request', value: Math.max(...waits), unit: 'ms' },
  ]
}

function lastPageSlowdown(comparisons: Comparison[]): Figure {
  const perSecond = (name: string) =>
    comparisons.find((comparison) => comparison.name === name)!.service.perSecond
  return {
    name: 'slowdown of the last page of 50,000',
    value: perSecond('own listings, first page') / perSecond('own listings, last page'),
    unit: '×',
    below: MAX_LAST_PAGE_SLOWDOWN,
  }
}
