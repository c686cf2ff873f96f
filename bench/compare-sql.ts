import type { BareSql } from './bare-sql.ts'
import {
  alternate,
  CONNECTIONS,
  type Comparison,
  callWorker,
  measureOnce,
  type Rate,
  startWorker,
} from './compare.ts'
import type { Load, LoadRequest, LoadResult } from './load.ts'
import { table, verdict } from './report.ts'
import type { Service } from './service.ts'

/** Requests, and the same work as SQL alone. */
export type SqlScenario = {
  name: string
  atLeast?: number
  requests: LoadRequest[]
  key: string
  work: BareSql['work']
  connections?: number
  /** Duration of a run; longer for slow requests. */
  runMs?: number
}

/** Compares a service with the same SQL alone, sent over one pool of prepared connections, in alternating runs. */
export function sqlBench(service: Service, url: string) {
  const generator = startWorker('./load.ts')
  const bare = startWorker('./bare-sql.ts')

  const compare = ({ connections = CONNECTIONS, runMs, ...scenario }: SqlScenario) => {
    const { requests, key, work } = scenario
    return alternate(
      scenario,
      (ms) => {
        const load: Load = { port: service.port, key, requests, connections, ms: runMs ?? ms }
        return measureOnce(generator, service.pid, load)
      },
      async (ms) => {
        const message: BareSql = { url, work, connections, ms: runMs ?? ms }
        return rateOf((await callWorker(bare, message)) as LoadResult)
      },
    )
  }

  return {
    async compareAll(scenarios: SqlScenario[]): Promise<Comparison[]> {
      const comparisons: Comparison[] = []
      for (const scenario of scenarios) comparisons.push(await compare(scenario))
      return comparisons
    },

    close() {
      generator.kill()
      bare.kill()
    },
  }
}

const rateOf = ({ responses, ms, cpuMs }: LoadResult): Rate => ({
  perSecond: (responses * 1000) / ms,
  cpuPerRequest: (cpuMs * 1000) / responses,
  busy: cpuMs / ms,
  generatorBusy: Number.NaN,
})

export type Growth = { title: string; from: string; to: string; atMost: number }

/** The slowdown of the same requests in a larger table. */
export const showGrowth = (
  { title, from, to, atMost }: Growth,
  before: Comparison[],
  after: Comparison[],
) =>
  table(
    [[title, from, to, 'slower', 'aim', 'holds']],
    before.map(({ name, service }, i) => {
      const slower = service.perSecond / after[i]!.service.perSecond
      return [
        name,
        `${service.perSecond.toFixed(1)}/s`,
        `${after[i]!.service.perSecond.toFixed(1)}/s`,
        `${slower.toFixed(2)}×`,
        `≤ ${atMost}×`,
        verdict(slower <= atMost),
      ]
    }),
  )
