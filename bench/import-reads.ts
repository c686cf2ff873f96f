import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { reads } from './reads.ts'
import { type Figure, quantile } from './report.ts'
import type { Service } from './service.ts'
import type { Latencies, SteadyLoad } from './steady-load.ts'

const READS_PER_SECOND = 400
const WARM_UP_MS = 3_000
const QUIET_MS = 20_000
/** An even number: the last import restores the names. */
const IMPORTS = 4
const TARGET_MS = 100

/**
 * Measures the latency of reads at a steady rate, without an import and while the service imports the whole catalog.
 * Each import changes the name of every set, card and product.
 */
export async function measureReadsDuringImport(
  service: Service,
  dataDir: string,
  files: string[],
): Promise<Figure[]> {
  const token = readFileSync(join(dataDir, 'secrets/operator-token'), 'utf8').trim()
  const lines = files.flatMap((file) =>
    gunzipSync(readFileSync(file)).toString().trim().split('\n'),
  )
  const variants = [renamed(lines), gzipSync(lines.join('\n'))]
  const paths = reads.flatMap((scenario) => scenario.paths)

  await latenciesWhile(service, paths, () => pause(WARM_UP_MS))
  const quiet = await latenciesWhile(service, paths, () => pause(QUIET_MS))
  let seconds = 0
  const busy = await latenciesWhile(service, paths, async () => {
    const began = performance.now()
    for (let i = 0; i < IMPORTS; i++) await post(service, token, variants[i % 2]!, lines.length)
    seconds = (performance.now() - began) / 1000 / IMPORTS
  })

  const figure = (name: string, share: number, below?: number): Figure[] => [
    { name: `read, quiet, ${name}`, value: quantile(quiet, share), unit: 'ms' },
    {
      name: `read, during an import, ${name}`,
      value: quantile(busy, share),
      unit: 'ms',
      ...(below !== undefined && { below }),
    },
    {
      name: `  times the quiet run`,
      value: quantile(busy, share) / quantile(quiet, share),
      unit: '×',
    },
  ]
  return [
    ...figure('median', 0.5),
    ...figure('p99', 0.99),
    ...figure('p99.9', 0.999, TARGET_MS),
    ...figure('longest', 1),
    { name: 'reads during imports', value: busy.length, unit: '' },
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

async function post({ port }: Service, token: string, body: Buffer, lines: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/operator/v1/catalog/import`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
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
  paths: string[],
  work: () => Promise<unknown>,
): Promise<Latencies> {
  const load = fork(new URL('./steady-load.ts', import.meta.url))
  try {
    load.send({ port, key, paths, perSecond: READS_PER_SECOND } satisfies SteadyLoad)
    await work()
    load.send('stop')
    const [latencies] = (await once(load, 'message')) as [Latencies]
    return latencies
  } finally {
    load.kill()
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
