import { mkdir, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { latencyFigures, openDeliveries } from './deliveries.ts'
import { alternate, openGenerator, type Row, type Side, sidesOf, type Target } from './engine.ts'
import { measureGrowth } from './growth.ts'
import { measureReadsDuringImport } from './import-reads.ts'
import { listings } from './listings.ts'
import { type Market, openMarket, SIZES, type Size } from './market.ts'
import { orders } from './orders.ts'
import { writePlans } from './plans.ts'
import { measureProgram } from './program.ts'
import { reads } from './reads.ts'
import { machine } from './report.ts'
import type { RateFigure, Results } from './results.ts'
import { OWN_CHECKOUT } from './service.ts'
import { growthTable, rateTable, valueTable } from './table.ts'
import { residentOf } from './usage.ts'

/** The command line is described in README.md. */
const { values: options, positionals: selected } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    service: { type: 'string', default: OWN_CHECKOUT },
    size: { type: 'string' },
    cache: { type: 'string', default: '/var/tmp/cardstall-bench' },
    json: { type: 'string' },
    only: { type: 'string', default: '' },
  },
})

const EFFORT = options.quick
  ? {
      rounds: { rounds: 3, ms: 400, warmUpMs: 1_500 },
      deliveries: 3_000,
      sales: 100,
      program: { restSeconds: 6, starts: 1, loadMs: 1_000 },
    }
  : {
      rounds: { rounds: 7, ms: 1_500, warmUpMs: 3_000 },
      deliveries: 10_000,
      sales: 300,
      program: { restSeconds: 15, starts: 5, loadMs: 5_000 },
    }

const checkout = resolve(options.service)
const size = (options.size ?? (options.quick ? 'small' : 'full')) as Size
const largeSize = (options.size ?? 'large') as Size
if (!(size in SIZES)) throw new Error(`--size is one of ${Object.keys(SIZES).join(', ')}`)

type Measured = Partial<Pick<Results, 'rates' | 'values' | 'growth'>>

/** Each subject gets the market, except those that start a service of their own. */
const SUBJECTS: Record<string, (market: Market) => Promise<Measured>> = {
  reads: (market) => measureRows(market, reads),
  listings: (market) => measureRows(market, listings),
  orders: (market) => measureRows(market, orders),
  deliveries: measureDeliveries,
}
const ALONE: Record<string, () => Promise<Measured>> = {
  program: async () => ({ values: await measureProgram(checkout, EFFORT.program) }),
  imports: async () => ({ values: await measureReadsDuringImport(checkout) }),
  growth: measureFromSmall,
  plans: async () => {
    const folder = new URL('plans/', import.meta.url)
    await writePlans(() => openMarket(checkout, largeSize, options.cache), folder)
    return {}
  },
}
/** They need a database that takes long to create, or a minute in which nothing else is measured. */
const ON_REQUEST = ['growth', 'plans', ...(options.quick ? ['imports'] : [])]

const known = [...Object.keys(SUBJECTS), ...Object.keys(ALONE)]
const unknown = selected.filter((name) => !known.includes(name))
if (unknown.length > 0)
  throw new Error(`unknown: ${unknown.join(', ')}; known: ${known.join(', ')}`)
const isSelected = (name: string) =>
  selected.length > 0 ? selected.includes(name) : !ON_REQUEST.includes(name)

const results: Results = { machine: machine(), size, rates: [], values: [], growth: [] }
console.log(`${results.machine}\nsize: ${size}\n`)
await mkdir(options.cache, { recursive: true })
if (Object.keys(SUBJECTS).some(isSelected)) {
  const market = await openMarket(checkout, size, options.cache)
  try {
    for (const [subject, measure] of Object.entries(SUBJECTS)) {
      if (isSelected(subject)) show(subject, await measure(market))
    }
    const value = residentOf(market.service.pids(), 'VmHWM')
    const memory = { name: 'largest memory under this load', value, unit: 'MB', atMost: 300 }
    show('memory', { values: [memory] })
  } finally {
    await market.close()
  }
}
for (const [subject, measure] of Object.entries(ALONE)) {
  if (isSelected(subject)) show(subject, await measure())
}
if (options.json) await writeFile(options.json, `${JSON.stringify(results, null, 2)}\n`)

function show(subject: string, { rates = [], values = [], growth = [] }: Measured): void {
  results.rates.push(...rates)
  results.values.push(...values)
  results.growth.push(...growth)
  if (rates.length > 0) console.log(`${rateTable(subject, rates)}\n`)
  if (values.length > 0) console.log(`${valueTable(subject, values)}\n`)
  if (growth.length > 0) console.log(`${growthTable(subject, growth)}\n`)
}

async function measureFromSmall(): Promise<Measured> {
  const small = await openMarket(checkout, 'small', options.cache)
  const large = await openMarket(checkout, largeSize, options.cache)
  try {
    return { growth: await measureGrowth([small, large], EFFORT.rounds, EFFORT.deliveries) }
  } finally {
    await small.close()
    await large.close()
  }
}

async function measureRows(market: Market, rows: Row[]): Promise<Measured> {
  const generator = openGenerator()
  const rates: RateFigure[] = []
  try {
    for (const row of rows.filter(({ name }) => name.includes(options.only))) {
      const sides = await sidesOf(market, row, generator, EFFORT.rounds.rounds)
      try {
        rates.push(await compare({ ...row, ...sides }))
      } finally {
        await sides.close()
      }
    }
    return { rates }
  } finally {
    generator.kill()
  }
}

async function measureDeliveries(market: Market): Promise<Measured> {
  const deliveries = await openDeliveries(market, EFFORT.deliveries)
  try {
    const rates: RateFigure[] = []
    for (const row of deliveries.rows) rates.push(await compare({ ...row, target: { ratio: 0.6 } }))
    return { rates, values: latencyFigures(await deliveries.latencies(EFFORT.sales)) }
  } finally {
    await deliveries.close()
  }
}

async function compare(row: {
  name: string
  target?: Target
  service: Side
  limit: Side
}): Promise<RateFigure> {
  const [service, limit] = await alternate([row.service, row.limit], EFFORT.rounds)
  return { name: row.name, target: row.target, service: service!, limit: limit! }
}
