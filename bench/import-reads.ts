import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync, gzipSync } from 'node:zlib'
import { temporaryFolder } from '../scripts/temporary-folder.ts'
import { CATALOG } from './market.ts'
import type { Value } from './program.ts'
import { quantile } from './report.ts'
import { runCommand, type Service, startService } from './service.ts'
import type { Latencies, SteadyLoad } from './steady-load.ts'
import { callWorker, startWorker } from './workers.ts'

const READS_PER_SECOND = 400
const WARM_UP_MS = 3_000
const QUIET_MS = 20_000
const IMPORTS = 4
const TARGET_MS = 100
const PATHS = [
  ...['base1-4', 'swsh9-1', 'sv3pt5-199', 'neo1-9'].map((id) => `/v1/cards/${id}`),
  ...[1, 2, 3, 4, 5].map((page) => `/v1/cards?set=swsh9&page=${page}`),
  ...['charizard', 'umbreon+vmax', 'charzard', 'prof'].map((q) => `/v1/cards?q=${q}`),
]

/**
 * Measures the latency of reads at a steady rate, without an import and while the service imports the whole catalog.
 * Each import changes the name of every set, card and product.
 */
export async function measureReadsDuringImport(checkout: string): Promise<Value[]> {
  const folder = await temporaryFolder('bench')
  const program = { checkout, dataDir: join(folder, 'data') }
  const files = CATALOG.map((file) => join(checkout, file))
  let service: Service | undefined
  try {
    await runCommand(program, 'migrate')
    await runCommand(program, 'catalog:import', ...files)
    service = await startService(program)
    return await measure(service, files)
  } finally {
    await service?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measure(service: Service, files: string[]): Promise<Value[]> {
  const lines = files.flatMap((file) =>
    gunzipSync(readFileSync(file)).toString().trim().split('\n'),
  )
  const variants = [renamed(lines), gzipSync(lines.join('\n'))]

  await latenciesWhile(service, () => sleep(WARM_UP_MS))
  const quiet = await latenciesWhile(service, () => sleep(QUIET_MS))
  let seconds = 0
  const busy = await latenciesWhile(service, async () => {
    const began = performance.now()
    for (let i = 0; i < IMPORTS; i++) await post(service, variants[i % 2]!, lines.length)
    seconds = (performance.now() - began) / 1000 / IMPORTS
  })

  const figure = (name: string, share: number, atMost?: number): Value[] => [
    { name: `read, quiet, ${name}`, value: quantile(quiet, share), unit: 'ms' },
    { name: `read, during an import, ${name}`, value: quantile(busy, share), unit: 'ms', atMost },
  ]
  return [
    ...figure('p50', 0.5),
    ...figure('p99', 0.99),
    ...figure('p99.9', 0.999, TARGET_MS),
    ...figure('longest', 1),
    { name: 'an import that changes everything', value: seconds, unit: 's' },
  ]
}

/** The records with changed names, so that the import writes each of them and the service reloads it. */
function renamed(lines: string[]): Buffer {
  const records = lines.map((line) => JSON.parse(line))
  return gzipSync(
    records
      .map((record) =>
        // A series keeps its name, which is its key.
        JSON.stringify(record.type === 'series' ? record : { ...record, name: `${record.name} 2` }),
      )
      .join('\n'),
  )
}

async function post(service: Service, body: Buffer, lines: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${service.port}/operator/v1/catalog/import`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${service.operatorToken}`,
      'content-type': 'application/x-ndjson',
      'content-encoding': 'gzip',
    },
    body: new Uint8Array(body),
  })
  const { data } = (await response.json()) as { data: { updated: number; rejected: number } }
  if (data.rejected > 0 || data.updated < lines * 0.9) {
    throw new Error(`the import did not change enough records: ${JSON.stringify(data)}`)
  }
}

async function latenciesWhile(
  { port, key }: Service,
  work: () => Promise<unknown>,
): Promise<Latencies> {
  const load = startWorker('./steady-load.ts')
  try {
    load.send({ port, key, paths: PATHS, perSecond: READS_PER_SECOND } satisfies SteadyLoad)
    await work()
    return await callWorker<Latencies>(load, { stop: true })
  } finally {
    load.kill()
  }
}
