import type { BareSql } from './bare-sql.ts'
import {
  ask,
  CONNECTIONS,
  type Comparison,
  child,
  inTurns,
  measureOnce,
  type Rate,
} from './compare.ts'
import type { Load, LoadRequest, LoadResult } from './load.ts'
import { table, verdict } from './report.ts'
import type { Service } from './service.ts'

/** Requests, and the same work as statements alone. */
export type SqlScenario = {
  name: string
  atLeast?: number
  requests: LoadRequest[]
  key: string
  work: BareSql['work']
  connections?: number
  /** How long a run takes: longer for what takes long. */
  runMs?: number
}

/** Compares a service with the same SQL run bare over one pool of prepared connections, in turns. */
export function sqlBench(service: Service, url: string) {
  const generator = child('./load.ts')
  const bare = child('./bare-sql.ts')

  const compare = ({ connections = CONNECTIONS, runMs, ...scenario }: SqlScenario) => {
    const { requests, key, work } = scenario
    return inTurns(
      scenario,
      (ms) => {
        const load: Load = { port: service.port, key, requests, connections, ms: runMs ?? ms }
        return measureOnce(generator, service.pid, load)
      },
      async (ms) => {
        const asked: BareSql = { url, work, connections, ms: runMs ?? ms }
        return rateOf((await ask(bare, asked)) as LoadResult)
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

const rateOf = ({ answers, ms, cpuMs }: LoadResult): Rate => ({
  perSecond: (answers * 1000) / ms,
  cpuPerAnswer: (cpuMs * 1000) / answers,
  busy: cpuMs / ms,
  generatorBusy: Number.NaN,
})

export type Growth = { title: string; from: string; to: string; atMost: number }

/** What more rows around the measured ones cost. */
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
