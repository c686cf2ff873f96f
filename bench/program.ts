import { execFileSync } from 'node:child_process'
import { copyFileSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { temporaryFolder } from '../scripts/temporary-folder.ts'
import type { BareResponses } from './bare-http.ts'
import { openGenerator, RECORDED, recordResponses, usageSince } from './engine.ts'
import type { Load, LoadRequest, LoadResult } from './load.ts'
import { CATALOG } from './market.ts'
import { shuffled } from './random.ts'
import { median } from './report.ts'
import { type Program, runCommand, type Service, startService } from './service.ts'
import { cpuOf, proportionalOf, residentOf } from './usage.ts'
import { callWorker, startWorker } from './workers.ts'

/** Cards in the catalog of all languages. */
const CARDS = 58_385

/** A measured value and its limit. */
export type Value = {
  name: string
  value: number
  unit: string
  atMost?: number
  atLeast?: number
}

/** Measures starts, memory at rest, the size of an installation, and the throughput of one and two processes. */
export async function measureProgram(
  checkout: string,
  { restSeconds, starts, loadMs }: { restSeconds: number; starts: number; loadMs: number },
): Promise<Value[]> {
  const folder = await temporaryFolder('bench')
  const program = { checkout, dataDir: join(folder, 'data') }
  try {
    const first = await startService(program)
    const english = await atRest(first, restSeconds, 'English', 120)
    await first.stop()
    await runCommand(program, 'catalog:import', ...CATALOG.map((file) => join(checkout, file)))
    const cold = await startMs(program, 1, { NODE_DISABLE_COMPILE_CACHE: '1' })
    const warm = await startMs(program, starts)
    const full = await startService(program)
    const all = await atRest(full, restSeconds, 'all languages', 160)
    await full.stop()
    return [
      { name: 'first start, English imported', value: first.readyMs, unit: 'ms' },
      { name: 'cold start, without the compile cache', value: cold, unit: 'ms' },
      { name: 'warm start', value: warm, unit: 'ms', atMost: 800 },
      ...english,
      ...all,
      {
        name: 'npm ci --omit=dev',
        value: installedMegabytes(checkout, folder),
        unit: 'MB',
        atMost: 150,
      },
      ...(await measureProcesses(program, loadMs)),
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function startMs(program: Program, times: number, settings = {}): Promise<number> {
  const measured: number[] = []
  for (let i = 0; i < times; i++) {
    const service = await startService({ ...program, settings })
    measured.push(service.readyMs)
    await service.stop()
  }
  return median(measured)
}

async function atRest(
  service: Service,
  seconds: number,
  catalog: string,
  atMost: number,
): Promise<Value[]> {
  const usage = usageSince(service.pids, service.postgresPids)
  await sleep(seconds * 1000)
  const [ofService, ofPostgres] = usage()
  const perSecond = (micros: number) => micros / 1000 / seconds
  return [
    { name: `CPU at rest, ${catalog}`, value: perSecond(ofService), unit: 'ms/s' },
    { name: `CPU at rest, ${catalog}, PostgreSQL`, value: perSecond(ofPostgres), unit: 'ms/s' },
    { name: `memory at rest, ${catalog}`, value: residentOf(service.pids()), unit: 'MB', atMost },
    {
      name: `memory at rest, ${catalog}, PostgreSQL`,
      value: proportionalOf(service.postgresPids()),
      unit: 'MB',
    },
  ]
}

/** Disk space of the dependencies of an installation. NaN if the registry can't be reached. */
function installedMegabytes(checkout: string, folder: string): number {
  for (const name of ['package.json', 'package-lock.json']) {
    copyFileSync(join(checkout, name), join(folder, name))
  }
  try {
    execFileSync('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund', '--prefer-offline'], {
      cwd: folder,
      stdio: 'ignore',
    })
    const kibibytes = execFileSync('du', ['-sk', 'node_modules'], { cwd: folder, encoding: 'utf8' })
    return (Number.parseInt(kibibytes, 10) * 1024) / 1e6
  } catch {
    return Number.NaN
  }
}

/**
 * Compares two processes on two cores with one process on one core, and bare servers in the same way: two cores that share
 * a physical one are not twice as fast as one. The two load generators run on the same cores, because their work grows with
 * the responses: on cores of their own they would leave none for the second process.
 */
async function measureProcesses(program: Program, ms: number): Promise<Value[]> {
  const settings = readFileSync(join(program.checkout!, 'server/settings/settings.ts'), 'utf8')
  if (!settings.includes('PROCESSES:') || process.platform !== 'linux') return []
  const generators = [openGenerator(), openGenerator()]
  const bareServers = [startWorker('./bare-http.ts'), startWorker('./bare-http.ts')]
  let responses: BareResponses = []

  /** Sends half of the requests as a warm-up. The generators take the ports in turn. */
  const rateOf = async (
    ports: number[],
    pids: number[],
    cores: string,
    load: Pick<Load, 'requests' | 'repeats'>,
  ) => {
    for (const pid of [...pids, ...generators.map(({ pid }) => pid!)]) pin(pid, cores)
    const share = Math.floor(load.requests.length / 4)
    const run = (first: number) =>
      Promise.all(
        generators.map((one, i) => {
          const requests = load.requests.slice((first + i) * share, (first + i + 1) * share)
          const port = ports[i % ports.length]!
          return callWorker<LoadResult>(one, { ...load, port, connections: 16, ms, requests })
        }),
      )
    await run(0)
    const before = cpuOf(pids)
    const results = await run(2)
    const cpu = cpuOf(pids) - before
    const sent = results.reduce((sum, { latencies }) => sum + latencies.length, 0)
    const seconds = Math.max(...results.map((result) => result.ms)) / 1000
    return { perSecond: sent / seconds, micros: cpu / sent }
  }
  const rateOfService = async (processes: number, cores: string) => {
    const service = await startService({ ...program, settings: { PROCESSES: String(processes) } })
    const requests = shuffled(pagesOfAllCards(service.key))
    responses = await recordResponses(service.port, requests.slice(0, RECORDED))
    const rate = await rateOf([service.port], service.pids(), cores, { requests, repeats: false })
    await service.stop()
    return rate
  }
  const rateOfBareServers = (ports: number[], cores: string) => {
    const pids = ports.map((_, i) => bareServers[i]!.pid!)
    const requests = Array.from({ length: RECORDED }, () => ({ path: '/', key: '', expected: [] }))
    return rateOf(ports, pids, cores, { requests, repeats: true })
  }
  try {
    const one = await rateOfService(1, '0')
    const two = await rateOfService(2, '0,1')
    const ports = await Promise.all(bareServers.map((bare) => callWorker<number>(bare, responses)))
    const bareOne = await rateOfBareServers(ports.slice(0, 1), '0')
    const bareTwo = await rateOfBareServers(ports, '0,1')
    const factor = two.perSecond / one.perSecond
    const limit = bareTwo.perSecond / bareOne.perSecond
    return [
      { name: 'pages per second, one process on one core', value: one.perSecond, unit: '/s' },
      { name: '  service', value: one.micros, unit: 'µs' },
      { name: 'pages per second, two processes on two cores', value: two.perSecond, unit: '/s' },
      { name: '  service', value: two.micros, unit: 'µs' },
      { name: '  times one core', value: factor, unit: '×', atLeast: 1.8 },
      { name: 'bare servers on two cores, times one on one core', value: limit, unit: '×' },
      { name: '  ratio of the two factors', value: factor / limit, unit: '' },
    ]
  } finally {
    for (const worker of [...generators, ...bareServers]) worker.kill()
  }
}

/** Restricts all threads of a process to these cores. */
const pin = (pid: number, cores: string) =>
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', cores, String(pid)], {
    stdio: 'ignore',
  })

/** The pages of the list of all cards, with 20 to 49 cards per page. */
const pagesOfAllCards = (key: string): LoadRequest[] =>
  Array.from({ length: 30 }, (_, i) => 20 + i).flatMap((perPage) =>
    Array.from({ length: Math.floor(CARDS / perPage) }, (_, i) => ({
      path: `/v1/cards?per_page=${perPage}&page=${i + 1}`,
      key,
      expected: [`"meta":{"current_page":${i + 1},`],
    })),
  )
