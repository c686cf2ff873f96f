import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { benchCatalog } from './catalog.ts'
import { benchDeliveries } from './deliveries.ts'
import { benchListings } from './listings.ts'
import { benchOrders } from './orders.ts'
import { machine } from './report.ts'

/** `npm run bench` measures everything, `npm run bench -- listings` only the listings. */
const BENCHMARKS = {
  catalog: benchCatalog,
  listings: benchListings,
  orders: benchOrders,
  deliveries: benchDeliveries,
}

const selected = process.argv.slice(2)
const unknown = selected.filter((name) => !(name in BENCHMARKS))
if (unknown.length > 0) {
  throw new Error(
    `Unknown benchmark: ${unknown.join(', ')}. Available: ${Object.keys(BENCHMARKS).join(', ')}.`,
  )
}

const folder = await mkdtemp(join(tmpdir(), 'cardstall-bench-'))
try {
  console.log(`${machine()}\n`)
  for (const [name, bench] of Object.entries(BENCHMARKS)) {
    if (selected.length === 0 || selected.includes(name)) await bench(folder)
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}
