import type { ChildProcess } from 'node:child_process'
import { request as httpRequest } from 'node:http'
import type { BareResponses } from './bare-http.ts'
import type { BareSql, StatementName } from './bare-sql.ts'
import type { Load, LoadRequest, LoadResult } from './load.ts'
import type { Market } from './market.ts'
import { quantile } from './report.ts'
import type { Database } from './service.ts'
import { cpuOf } from './usage.ts'
import { callWorker, startWorker } from './workers.ts'

/** One row of the table: requests, the limit that they are compared with, and the target. */
export type Row = {
  name: string
  requests(market: Market): LoadRequest[] | Promise<LoadRequest[]>
  /** Sends the same requests again and again. All other rows send each request once. */
  repeats?: boolean
  connections?: number
  /** `http`: a bare node:http server that sends the same bytes. Otherwise the minimal prepared SQL (bare-sql.ts). */
  limit: 'http' | StatementName
  effects?: Effects
  target?: Target
}

/** Counts what requests that write have changed or created, so that a response without an effect fails the run. */
export type Effects = {
  perRequest: number
  /** Read before a run, for example the largest id. */
  before(db: Database): Promise<number>
  count(db: Database, before: number, done: LoadRequest[]): Promise<number>
  /** Removes the rows after the last run, if they would make the database grow. */
  undo?(db: Database, before: number): Promise<unknown>
  /**
   * Whether the work that the requests have left to the service, such as e-mail, has ended. It is part of their cost.
   */
  isSettled?(db: Database): Promise<boolean>
}

/**
 * Limits of the service's CPU time per response: as a multiple of the limit's, or in microseconds. Lower bounds of the
 * rate: in absolute terms, or as a ratio to the limit's.
 */
export type Target = {
  timesBare?: number
  micros?: number
  perSecond?: number
  ratio?: number
}

/** One run. CPU times are in microseconds per response. */
export type Sample = {
  perSecond: number
  service: number
  postgres: number
  generator: number
  latencies: ArrayLike<number>
}

/** The median, smallest and largest value of the rounds. */
type Spread = { median: number; min: number; max: number }

export type Rates = Record<'perSecond' | 'service' | 'postgres' | 'generator', Spread> & {
  /** Milliseconds, over all rounds. */
  p50: number
  p99: number
  responses: number
}

export type Side = (ms: number) => Promise<Sample>
export type Rounds = { rounds: number; ms: number; warmUpMs: number }

const CONNECTIONS = 32
/** How many responses of the service a bare server repeats. */
export const RECORDED = 200
const SETTLE_TIMEOUT_MS = 120_000

/**
 * Runs all sides in turn, after a warm-up of each: other load on the machine then affects all of them. Their order
 * changes in each round, so that drift cancels out.
 */
export async function alternate(sides: Side[], { rounds, ms, warmUpMs }: Rounds): Promise<Rates[]> {
  const samples: Sample[][] = sides.map(() => [])
  for (const side of sides) await side(warmUpMs)
  for (let round = 0; round < rounds; round++) {
    const order = sides.map((_, i) => (round % 2 === 0 ? i : sides.length - 1 - i))
    for (const i of order) samples[i]!.push(await sides[i]!(ms))
  }
  return samples.map(ratesOf)
}

/** Sums up the samples of all rounds of a side. */
function ratesOf(samples: Sample[]): Rates {
  const latencies = samples.flatMap((sample) => Array.from(sample.latencies))
  const spread = (key: 'perSecond' | 'service' | 'postgres' | 'generator'): Spread => {
    const values = samples.map((sample) => sample[key])
    return {
      median: quantile(values, 0.5),
      min: Math.min(...values),
      max: Math.max(...values),
    }
  }
  return {
    perSecond: spread('perSecond'),
    service: spread('service'),
    postgres: spread('postgres'),
    generator: spread('generator'),
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    responses: latencies.length,
  }
}

/** The sides of a row: the service, and its limit. */
export async function sidesOf(
  market: Market,
  row: Row,
  generator: ChildProcess,
  rounds: number,
): Promise<{ service: Side; limit: Side; close(): Promise<void> }> {
  // Each side has a warm-up. SQL takes its part of the requests, because it has the same effects.
  const runs = (rounds + 1) * (row.limit === 'http' ? 1 : 2)
  const walk = walkOf(await row.requests(market), row.repeats ?? false, runs)
  const before = await row.effects?.before(market.db)
  const { limit, worker } =
    row.limit === 'http'
      ? await bareHttp(market, row, generator, walk.take(RECORDED))
      : bareSql(market, row, row.limit, walk)
  return {
    service: serviceSide(market, row, generator, walk),
    limit,
    async close() {
      worker.kill()
      await row.effects?.undo?.(market.db, before!)
    },
  }
}

/** Requests that are taken once each, in equal parts for the remaining runs. */
type Walk = {
  repeats: boolean
  take(count: number): LoadRequest[]
  part(): LoadRequest[]
  used(count: number): void
}

function walkOf(requests: LoadRequest[], repeats: boolean, runs: number): Walk {
  let next = 0
  let runsLeft = runs
  if (requests.length === 0) throw new Error('a row has no requests')
  return {
    repeats,
    take(count) {
      if (repeats) return requests.slice(0, count)
      const share = Math.min(count, Math.floor(requests.length / 4))
      next += share
      return requests.slice(next - share, next)
    },
    part() {
      if (repeats) return requests
      const size = Math.floor((requests.length - next) / Math.max(1, runsLeft--))
      return requests.slice(next, next + size)
    },
    used(count) {
      if (!repeats) next += count
    },
  }
}

function serviceSide({ service, db }: Market, row: Row, generator: ChildProcess, walk: Walk): Side {
  return (ms) =>
    withEffects(db, row, async () => {
      const load: Load = {
        port: service.port,
        connections: row.connections ?? CONNECTIONS,
        ms,
        requests: walk.part(),
        repeats: walk.repeats,
      }
      const usage = usageSince(service.pids, service.postgresPids)
      const result = await callWorker<LoadResult>(generator, load)
      walk.used(result.used)
      const done = load.requests.slice(0, result.used)
      if (row.effects?.isSettled) await settle(db, row.effects.isSettled)
      return { done, sample: sampleOf(result, ...usage(), result.cpu) }
    })
}

/** Waits until the service has finished the work that its responses left. @throws Error after two minutes */
export async function settle(
  db: Database,
  isSettled: (db: Database) => Promise<boolean>,
): Promise<void> {
  const deadline = performance.now() + SETTLE_TIMEOUT_MS
  while (!(await isSettled(db))) {
    if (performance.now() > deadline) throw new Error('the service does not finish its work')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** CPU time of the service and of PostgreSQL since now. */
export function usageSince(service: () => number[], postgres: () => number[]) {
  const before = [cpuOf(service()), cpuOf(postgres())]
  return (): [number, number] => [cpuOf(service()) - before[0]!, cpuOf(postgres()) - before[1]!]
}

function sampleOf(
  { ms, latencies }: LoadResult,
  service: number,
  postgres: number,
  generator: number,
): Sample {
  const responses = latencies.length
  if (responses === 0) throw new Error('no response arrived within the round')
  return {
    perSecond: (responses * 1000) / ms,
    service: service / responses,
    postgres: postgres / responses,
    generator: generator / responses,
    latencies,
  }
}

/** Fails unless the database contains exactly what these requests should have changed. */
async function withEffects(
  db: Database,
  { name, effects }: Row,
  run: () => Promise<{ done: LoadRequest[]; sample: Sample }>,
): Promise<Sample> {
  if (!effects) return (await run()).sample
  const before = await effects.before(db)
  const { done, sample } = await run()
  const found = await effects.count(db, before, done)
  const expected = done.length * effects.perRequest
  if (found !== expected) {
    throw new Error(`${name}: ${done.length} responses, but ${found} rows instead of ${expected}`)
  }
  return sample
}

/** A bare server that sends the responses of the first requests. */
async function bareHttp(
  { service }: Market,
  row: Row,
  generator: ChildProcess,
  requests: LoadRequest[],
) {
  const bare = startWorker('./bare-http.ts')
  const port = await callWorker<number>(bare, await recordResponses(service.port, requests))
  const limit: Side = async (ms) => {
    const load: Load = {
      port,
      connections: row.connections ?? CONNECTIONS,
      ms,
      requests: requests.map((request) => ({ ...request, expected: [] })),
      repeats: true,
    }
    const usage = usageSince(
      () => [bare.pid!],
      () => [],
    )
    const result = await callWorker<LoadResult>(generator, load)
    return sampleOf(result, ...usage(), result.cpu)
  }
  return { limit, worker: bare }
}

/** The service's responses, for a bare server that sends the same bytes. */
export async function recordResponses(
  port: number,
  requests: LoadRequest[],
): Promise<BareResponses> {
  const responses: BareResponses = []
  for (const request of requests) responses.push(await fetchOnce(port, request))
  return responses
}

/** Headers that Node adds by itself. */
const NODE_HEADERS = new Set(['date', 'connection', 'keep-alive'])

function fetchOnce(port: number, { path, key }: LoadRequest): Promise<BareResponses[number]> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}` }
    const sent = httpRequest({ port, host: '127.0.0.1', path, headers }, async (response) => {
      const body = Buffer.concat(await response.toArray())
      if (response.statusCode !== 200) reject(new Error(`${path}: ${response.statusCode} ${body}`))
      const { rawHeaders } = response
      const isOwn = (i: number) => !NODE_HEADERS.has(rawHeaders[i - (i % 2)]!.toLowerCase())
      resolve({ headers: rawHeaders.filter((_, i) => isOwn(i)), body })
    })
    sent.on('error', reject).end()
  })
}

/** The minimal statements that do the same, from a process that does nothing else. */
function bareSql(market: Market, row: Row, statement: StatementName, walk: Walk) {
  const bare = startWorker('./bare-sql.ts')
  const { service, db, address } = market
  const limit: Side = (ms) =>
    withEffects(db, row, async () => {
      const requests = walk.part()
      const parameters = requests.map((request) => request.parameters ?? [])
      const usage = usageSince(() => [], service.postgresPids)
      const message: BareSql = { address, statement, parameters, ms }
      const result = await callWorker<LoadResult>(bare, message)
      walk.used(result.used)
      const [, postgres] = usage()
      const done = requests.slice(0, result.used)
      return { done, sample: sampleOf(result, result.cpu, postgres, Number.NaN) }
    })
  return { limit, worker: bare }
}

export const openGenerator = () => startWorker('./load.ts')
