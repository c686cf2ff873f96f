import { join } from 'node:path'
import { compare, showComparisons } from './compare.ts'
import { measureReadsDuringImport } from './import-reads.ts'
import { reads } from './reads.ts'
import { median, showFigures } from './report.ts'
import { measureSearch } from './search.ts'
import { runCommand, type Service, startService } from './service.ts'
import { usageOf } from './usage.ts'

const CATALOG = ['english', 'products', 'europe', 'asia'].map((name) => `catalog/${name}.ndjson.gz`)
const RESTARTS = 5

/** Measures reads of the catalog compared with bare node:http, search in process, starts and imports. */
export async function benchCatalog(folder: string): Promise<void> {
  let service: Service | undefined
  try {
    const first = await startService(join(folder, 'first'))
    await first.stop()

    const dataDir = join(folder, 'full')
    await runCommand(dataDir, 'migrate')
    const imported = await runCommand(dataDir, 'catalog:import', ...CATALOG)
    const unchanged = await runCommand(dataDir, 'catalog:import', ...CATALOG)

    const starts: number[] = []
    for (let i = 0; i < RESTARTS; i++) {
      await service?.stop()
      service = await startService(dataDir)
      starts.push(service.readySeconds)
    }
    if (!service) throw new Error('the service was never started')

    const loaded = usageOf(service.pid)
    const comparisons = []
    for (const read of reads) comparisons.push(await compare(service, read))
    const after = usageOf(service.pid)
    console.log(`${showComparisons('reads', comparisons)}\n`)

    const search = await measureSearch(dataDir)
    const figures = [
      ...search,
      { name: 'first start, English imported', value: first.readySeconds, unit: 's' },
      { name: `warm start, median of ${RESTARTS}`, value: median(starts), unit: 's', below: 2 },
      { name: 'import of the whole catalog', value: imported.seconds, unit: 's' },
      { name: 'repeated import, nothing changed', value: unchanged.seconds, unit: 's' },
      { name: 'memory after the start (RSS)', value: loaded.rssMiB, unit: 'MiB' },
      { name: 'memory after the reads (RSS)', value: after.rssMiB, unit: 'MiB' },
    ]
    console.log(`${showFigures(figures)}\n`)

    console.log(`${showFigures(await measureReadsDuringImport(service, dataDir, CATALOG))}\n`)
  } finally {
    await service?.stop()
  }
}
