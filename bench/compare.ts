import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import type { BareAnswers } from './bare-server.ts'
import type { Load, LoadResult } from './load.ts'
import { count, median, percent, table, verdict } from './report.ts'
import type { Service } from './service.ts'
import { usageOf } from './usage.ts'

/** Addresses that are asked for in turn, and how near to the bare server they are meant to come. */
export type Scenario = { name: string; paths: string[]; atLeast?: number }

/** The service and something that does the least there is to do, measured in turns. */
export type Comparison = {
  name: string
  atLeast?: number | undefined
  service: Side
  bare: Side
  /** The service's answers a second in parts of the bare server's: of each pair of runs. */
  ratios: number[]
}

/** Medians of all runs. */
type Side = Rate

export type Rate = {
  perSecond: number
  /** The server's own processor time, in microseconds. */
  cpuPerAnswer: number
  /** How much of a core each used. */
  busy: number
  generatorBusy: number
}

export const CONNECTIONS = 16
const ROUNDS = 7
const RUN_MS = 1_500
const WARM_UP_MS = 1_000

/**
 * Measures the service next to a bare node:http server that sends the same bytes, in short runs that take turns:
 * what else the machine does meanwhile meets both.
 */
export async function compare(service: Service, scenario: Scenario): Promise<Comparison> {
  const answers: BareAnswers = new Map()
  for (const path of scenario.paths) answers.set(path, await fetchOnce(service, path))
  const requests = [...answers].map(([path, { body }]) => ({ path, bodyLength: body.length }))

  const bareServer = child('./bare-server.ts')
  const generator = child('./load.ts')
  try {
    const port = (await ask(bareServer, answers)) as number
    const measure = (server: { pid: number; port: number }, ms: number) =>
      measureOnce(generator, server.pid, {
        port: server.port,
        key: service.key,
        requests,
        connections: CONNECTIONS,
        ms,
      })
    const bare = { pid: bareServer.pid!, port }
    return await inTurns(
      scenario,
      (ms) => measure(service, ms),
      (ms) => measure(bare, ms),
    )
  } finally {
    bareServer.kill()
    generator.kill()
  }
}

/** Runs of the service and of the bare thing, one after the other. */
export async function inTurns(
  { name, atLeast }: Pick<Scenario, 'name' | 'atLeast'>,
  measureService: (ms: number) => Promise<Rate>,
  measureBare: (ms: number) => Promise<Rate>,
): Promise<Comparison> {
  await measureService(WARM_UP_MS)
  await measureBare(WARM_UP_MS)
  const ours: Rate[] = []
  const theirs: Rate[] = []
  for (let round = 0; round < ROUNDS; round++) {
    // Neither is always the first: what drifts cancels out.
    if (round % 2 === 0) ours.push(await measureService(RUN_MS))
    theirs.push(await measureBare(RUN_MS))
    if (round % 2 === 1) ours.push(await measureService(RUN_MS))
  }
  return {
    name,
    atLeast,
    service: medians(ours),
    bare: medians(theirs),
    ratios: ours.map((rate, i) => rate.perSecond / theirs[i]!.perSecond),
  }
}

/** Sends this load with the generator and takes note of what the server used meanwhile. */
export async function measureOnce(generator: ChildProcess, pid: number, load: Load): Promise<Rate> {
  const before = usageOf(pid)
  const { answers, ms, cpuMs } = (await ask(generator, load)) as LoadResult
  const serverMs = usageOf(pid).cpuMs - before.cpuMs
  return {
    perSecond: (answers * 1000) / ms,
    cpuPerAnswer: (serverMs * 1000) / answers,
    busy: serverMs / ms,
    generatorBusy: cpuMs / ms,
  }
}

const medians = (rates: Rate[]): Side => ({
  perSecond: median(rates.map((rate) => rate.perSecond)),
  cpuPerAnswer: median(rates.map((rate) => rate.cpuPerAnswer)),
  busy: median(rates.map((rate) => rate.busy)),
  generatorBusy: median(rates.map((rate) => rate.generatorBusy)),
})

/** Node sends these by itself. */
const OF_NODE = new Set(['date', 'connection', 'keep-alive'])

function fetchOnce({ port, key }: Service, path: string) {
  return new Promise<{ headers: string[]; body: Buffer }>((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}` }
    const sent = request({ port, host: '127.0.0.1', path, headers }, async (answer) => {
      const body = Buffer.concat(await answer.toArray())
      if (answer.statusCode !== 200) reject(new Error(`${path}: ${answer.statusCode} ${body}`))
      const { rawHeaders } = answer
      const isOurs = (i: number) => !OF_NODE.has(rawHeaders[i - (i % 2)]!.toLowerCase())
      resolve({ headers: rawHeaders.filter((_, i) => isOurs(i)), body })
    })
    sent.on('error', reject).end()
  })
}

/** Another process that runs this file and is asked by messages. */
export const child = (file: string) =>
  fork(new URL(file, import.meta.url), { serialization: 'advanced', execArgv: [] })

/** Sends a message to a child and waits for its answer; a child that ends instead has said why. */
export async function ask(process: ChildProcess, message: object): Promise<unknown> {
  process.send(message)
  const answered = new AbortController()
  const { signal } = answered
  const [answer] = await Promise.race([
    once(process, 'message', { signal }),
    once(process, 'exit', { signal }).then(([code]) => {
      throw new Error(`${process.spawnargs.at(-1)} ended with ${code}`)
    }),
  ])
  answered.abort()
  return answer
}

export function showComparisons(what: string, comparisons: Comparison[]): string {
  return table(
    [
      [
        '',
        'answers/s',
        '',
        'ratio',
        '',
        '',
        '',
        'CPU µs/answer',
        '',
        'cores busy',
        '',
        'generator',
        '',
      ],
      [
        what,
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
      service.cpuPerAnswer.toFixed(1),
      bare.cpuPerAnswer.toFixed(1),
      percent(service.busy),
      percent(bare.busy),
      percent(service.generatorBusy),
      percent(bare.generatorBusy),
    ]),
  )
}
