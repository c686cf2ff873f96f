import { execFileSync } from 'node:child_process'
import { copyFileSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { temporaryFolder } from '../scripts/temporary-folder.ts'
import { openGenerator, usageSince } from './engine.ts'
import type { Load, LoadResult } from './load.ts'
import { CATALOG } from './market.ts'
import { median } from './report.ts'
import { type Program, runCommand, type Service, startService } from './service.ts'
import { cpuOf, proportionalOf, residentOf } from './usage.ts'
import { callWorker } from './workers.ts'

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

const CARDS = ['base1-4', 'swsh9-1', 'sv3pt5-199', 'neo1-9', 'swsh4-25']

/** Compares the throughput of two processes with one. Two generators send the load. */
async function measureProcesses(program: Program, ms: number): Promise<Value[]> {
  const settings = readFileSync(join(program.checkout!, 'server/settings/settings.ts'), 'utf8')
  if (!settings.includes('PROCESSES:')) return []
  const generators = [openGenerator(), openGenerator()]
  const rateWith = async (processes: number) => {
    const service = await startService({ ...program, settings: { PROCESSES: String(processes) } })
    const load: Load = {
      port: service.port,
      connections: 16,
      ms,
      repeats: true,
      requests: CARDS.map((id) => ({ path: `/v1/cards/${id}`, key: service.key, expected: [id] })),
    }
    const run = () => Promise.all(generators.map((one) => callWorker<LoadResult>(one, load)))
    await run()
    const before = cpuOf(service.pids())
    const results = await run()
    const cpu = cpuOf(service.pids()) - before
    await service.stop()
    const responses = results.reduce((sum, { latencies }) => sum + latencies.length, 0)
    return {
      perSecond: (responses * 1000) / ms,
      cores: cpu / 1000 / ms,
      generators: results.reduce((sum, { cpu }) => sum + cpu, 0) / 1000 / ms,
    }
  }
  try {
    const one = await rateWith(1)
    const two = await rateWith(2)
    return [
      { name: 'cards per second, PROCESSES=1', value: one.perSecond, unit: '/s' },
      { name: 'cards per second, PROCESSES=2', value: two.perSecond, unit: '/s' },
      {
        name: '  times one process',
        value: two.perSecond / one.perSecond,
        unit: '×',
        atLeast: 1.8,
      },
      { name: '  cores used by the service', value: two.cores, unit: 'cores' },
      { name: '  cores used by the generators', value: two.generators, unit: 'cores' },
    ]
  } finally {
    for (const generator of generators) generator.kill()
  }
}
