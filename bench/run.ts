import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { benchCatalog } from './catalog.ts'
import { benchDeliveries } from './deliveries.ts'
import { benchListings } from './listings.ts'
import { benchOrders } from './orders.ts'
import { machine } from './report.ts'

/** `npm run bench` measures everything, `npm run bench -- listings` a part of it. */
const PARTS = {
  catalog: benchCatalog,
  listings: benchListings,
  orders: benchOrders,
  deliveries: benchDeliveries,
}

const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !(name in PARTS))
if (unknown.length > 0) {
  throw new Error(
    `No such part: ${unknown.join(', ')}. There are: ${Object.keys(PARTS).join(', ')}`,
  )
}

const folder = await mkdtemp(join(tmpdir(), 'cardstall-bench-'))
try {
  console.log(`${machine()}\n`)
  for (const [name, bench] of Object.entries(PARTS)) {
    if (wanted.length === 0 || wanted.includes(name)) await bench(folder)
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}
