import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import type { BareResponses } from './bare-server.ts'
import type { Load, LoadResult } from './load.ts'
import { count, median, percent, table, verdict } from './report.ts'
import type { Service } from './service.ts'
import { usageOf } from './usage.ts'

/** Paths to request in rotation, and the smallest acceptable ratio to the bare server's rate. */
export type Scenario = { name: string; paths: string[]; atLeast?: number }

/** Rates of the service and of a bare program that does only the unavoidable work. */
export type Comparison = {
  name: string
  atLeast?: number | undefined
  /** Medians of all runs. */
  service: Rate
  bare: Rate
  /** The service's rate divided by the bare program's, for each pair of runs. */
  ratios: number[]
}

export type Rate = {
  perSecond: number
  /** The server's CPU time in microseconds. */
  cpuPerRequest: number
  /** Cores used by the server. */
  busy: number
  /** Cores used by the load generator. */
  generatorBusy: number
}

export const CONNECTIONS = 16
const ROUNDS = 7
const RUN_MS = 1_500
const WARM_UP_MS = 1_000

/**
 * Compares the service with a bare node:http server that sends the same bytes. Short runs alternate, so that other load
 * on the machine affects both.
 */
export async function compare(service: Service, scenario: Scenario): Promise<Comparison> {
  const responses: BareResponses = new Map()
  for (const path of scenario.paths) responses.set(path, await fetchOnce(service, path))
  const requests = [...responses].map(([path, { body }]) => ({ path, bodyLength: body.length }))

  const bareServer = startWorker('./bare-server.ts')
  const generator = startWorker('./load.ts')
  try {
    const port = (await callWorker(bareServer, responses)) as number
    const measure = (server: { pid: number; port: number }, ms: number) =>
      measureOnce(generator, server.pid, {
        port: server.port,
        key: service.key,
        requests,
        connections: CONNECTIONS,
        ms,
      })
    const bare = { pid: bareServer.pid!, port }
    return await alternate(
      scenario,
      (ms) => measure(service, ms),
      (ms) => measure(bare, ms),
    )
  } finally {
    bareServer.kill()
    generator.kill()
  }
}

/** Alternates runs of the service and of the bare program, after a warm-up of each. */
export async function alternate(
  { name, atLeast }: Pick<Scenario, 'name' | 'atLeast'>,
  measureService: (ms: number) => Promise<Rate>,
  measureBare: (ms: number) => Promise<Rate>,
): Promise<Comparison> {
  await measureService(WARM_UP_MS)
  await measureBare(WARM_UP_MS)
  const serviceRates: Rate[] = []
  const bareRates: Rate[] = []
  for (let round = 0; round < ROUNDS; round++) {
    // The order changes in each round, so that drift cancels out.
    if (round % 2 === 0) serviceRates.push(await measureService(RUN_MS))
    bareRates.push(await measureBare(RUN_MS))
    if (round % 2 === 1) serviceRates.push(await measureService(RUN_MS))
  }
  return {
    name,
    atLeast,
    service: medians(serviceRates),
    bare: medians(bareRates),
    ratios: serviceRates.map((rate, i) => rate.perSecond / bareRates[i]!.perSecond),
  }
}

/** Sends this load with the generator, and measures the server's CPU time. */
export async function measureOnce(generator: ChildProcess, pid: number, load: Load): Promise<Rate> {
  const before = usageOf(pid)
  const { responses, ms, cpuMs } = (await callWorker(generator, load)) as LoadResult
  const serverMs = usageOf(pid).cpuMs - before.cpuMs
  return {
    perSecond: (responses * 1000) / ms,
    cpuPerRequest: (serverMs * 1000) / responses,
    busy: serverMs / ms,
    generatorBusy: cpuMs / ms,
  }
}

const medians = (rates: Rate[]): Rate => ({
  perSecond: median(rates.map((rate) => rate.perSecond)),
  cpuPerRequest: median(rates.map((rate) => rate.cpuPerRequest)),
  busy: median(rates.map((rate) => rate.busy)),
  generatorBusy: median(rates.map((rate) => rate.generatorBusy)),
})

/** Headers that Node adds by itself. */
const NODE_HEADERS = new Set(['date', 'connection', 'keep-alive'])

function fetchOnce({ port, key }: Service, path: string) {
  return new Promise<{ headers: string[]; body: Buffer }>((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}` }
    const sent = request({ port, host: '127.0.0.1', path, headers }, async (response) => {
      const body = Buffer.concat(await response.toArray())
      if (response.statusCode !== 200) reject(new Error(`${path}: ${response.statusCode} ${body}`))
      const { rawHeaders } = response
      const isOwn = (i: number) => !NODE_HEADERS.has(rawHeaders[i - (i % 2)]!.toLowerCase())
      resolve({ headers: rawHeaders.filter((_, i) => isOwn(i)), body })
    })
    sent.on('error', reject).end()
  })
}

/** Starts a process that runs this file and exchanges messages with this one. */
export const startWorker = (file: string) =>
  fork(new URL(file, import.meta.url), { serialization: 'advanced', execArgv: [] })

/** Sends a message to a worker and returns its reply. Throws if the worker exits first; its error is on stderr. */
export async function callWorker(process: ChildProcess, message: object): Promise<unknown> {
  process.send(message)
  const settled = new AbortController()
  const { signal } = settled
  const [reply] = await Promise.race([
    once(process, 'message', { signal }),
    once(process, 'exit', { signal }).then(([code]) => {
      throw new Error(`${process.spawnargs.at(-1)} exited with code ${code}`)
    }),
  ])
  settled.abort()
  return reply
}

export function showComparisons(title: string, comparisons: Comparison[]): string {
  return table(
    [
      [
        '',
        'requests/s',
        '',
        'ratio',
        '',
        '',
        '',
        'CPU µs/request',
        '',
        'cores busy',
        '',
        'generator',
        '',
      ],
      [
        title,
        'service',
        'bare',
        'median',
        'min–max',
        'aim',
        'holds',
        'service',
        'bare',
        'service',
        'bare',
        'service',
        'bare',
      ],
    ],
    comparisons.map(({ name, atLeast, service, bare, ratios }) => [
      name,
      count(service.perSecond),
      count(bare.perSecond),
      median(ratios).toFixed(2),
      `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`,
      atLeast === undefined ? '' : `≥ ${atLeast}`,
      atLeast === undefined ? '' : verdict(median(ratios) >= atLeast),
      service.cpuPerRequest.toFixed(1),
      bare.cpuPerRequest.toFixed(1),
      percent(service.busy),
      percent(bare.busy),
      percent(service.generatorBusy),
      percent(bare.generatorBusy),
    ]),
  )
}
