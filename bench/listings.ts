import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import type { BareSql } from './bare-sql.ts'
import {
  ask,
  CONNECTIONS,
  type Comparison,
  child,
  inTurns,
  measureOnce,
  type Rate,
  showComparisons,
} from './compare.ts'
import type { Load, LoadRequest, LoadResult } from './load.ts'
import { type Market, openMarket } from './market.ts'
import { type Figure, showFigures, table, verdict } from './report.ts'
import { type Service, startService } from './service.ts'

const PER_PAGE = 30
const SELLERS_LISTINGS = 50_000
const ITEMS = 100
const AT_FIRST = { listings: 200_000, sellers: 2_000 }
const GROWN = { listings: 2_000_000, sellers: 20_000 }
const MOST_GROWTH = 1.3
const MOST_LAST_TO_FIRST = 2

type ListingScenario = {
  name: string
  atLeast?: number
  requests: LoadRequest[]
  key: string
  work: BareSql['work']
  connections?: number
  /** How long a run takes: longer for what takes long. */
  runMs?: number
}

/**
 * What sellers' tools do with their listings, next to the same SQL alone, and again with ten times as many listings
 * of others around them.
 */
export async function benchListings(folder: string): Promise<void> {
  const dataDir = join(folder, 'listings')
  const service = await startService(dataDir)
  const market = await openMarket(service, dataDir)
  const generator = child('./load.ts')
  const bare = child('./bare-sql.ts')
  const compareAll = async () => {
    const comparisons: Comparison[] = []
    for (const scenario of scenarios(service, market)) {
      comparisons.push(await compareSql(service, market.url, generator, bare, scenario))
    }
    return comparisons
  }
  try {
    await market.growTo(AT_FIRST.listings, AT_FIRST.sellers)
    const comparisons = await compareAll()
    console.log(`${showComparisons('listings', comparisons)}\n`)
    const stalls = await measureStalls(service, market)
    console.log(`${showFigures([lastToFirst(comparisons), ...stalls])}\n`)

    await market.growTo(GROWN.listings, GROWN.sellers)
    console.log(`${showGrowth(comparisons, await compareAll())}\n`)
  } finally {
    generator.kill()
    bare.kill()
    await market.close()
    await service.stop()
  }
}

function scenarios(service: Service, market: Market): ListingScenario[] {
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

function compareSql(
  service: Service,
  url: string,
  generator: ChildProcess,
  bare: ChildProcess,
  { connections = CONNECTIONS, runMs, ...scenario }: ListingScenario,
): Promise<Comparison> {
  const { requests, key, work } = scenario
  return inTurns(
    scenario,
    (ms) => {
      const load: Load = { port: service.port, key, requests, connections, ms: runMs ?? ms }
      return measureOnce(generator, service.pid, load)
    },
    async (ms) => {
      const asked: BareSql = { url, work, connections, ms: runMs ?? ms }
      return rateOf((await ask(bare, asked)) as LoadResult)
    },
  )
}

const rateOf = ({ answers, ms, cpuMs }: LoadResult): Rate => ({
  perSecond: (answers * 1000) / ms,
  cpuPerAnswer: (cpuMs * 1000) / answers,
  busy: cpuMs / ms,
  generatorBusy: Number.NaN,
})

/** How long other requests wait at most while popular cards are asked for. */
async function measureStalls(service: Service, market: Market): Promise<Figure[]> {
  const get = async (path: string) => {
    const headers = { authorization: `Bearer ${service.key}` }
    const response = await fetch(`http://127.0.0.1:${service.port}${path}`, { headers })
    return (await response.arrayBuffer()).byteLength
  }
  let busy = true
  const waits: number[] = []
  const others = (async () => {
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
  await others
  return [
    { name: 'size of that embed', value: bytes / 1024 / 1024, unit: 'MiB' },
    { name: 'longest wait of another request beside it', value: Math.max(...waits), unit: 'ms' },
  ]
}

function lastToFirst(comparisons: Comparison[]): Figure {
  const perSecond = (name: string) =>
    comparisons.find((comparison) => comparison.name === name)!.service.perSecond
  return {
    name: 'last page of 50,000 to the first one',
    value: perSecond('own listings, first page') / perSecond('own listings, last page'),
    unit: '×',
    below: MOST_LAST_TO_FIRST,
  }
}

const showGrowth = (before: Comparison[], after: Comparison[]) =>
  table(
    [['with ten times the listings around it', '200,000', '2,000,000', 'slower', 'aim', 'holds']],
    before.map(({ name, service }, i) => {
      const slower = service.perSecond / after[i]!.service.perSecond
      return [
        name,
        `${service.perSecond.toFixed(1)}/s`,
        `${after[i]!.service.perSecond.toFixed(1)}/s`,
        `${slower.toFixed(2)}×`,
        `≤ ${MOST_GROWTH}×`,
        verdict(slower <= MOST_GROWTH),
      ]
    }),
  )
