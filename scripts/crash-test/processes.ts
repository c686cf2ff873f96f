import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { CATALOG_FIXTURE } from '../../server/test/catalog-fixture.ts'
import { freePort } from '../../server/test/free-port.ts'

/** The operator token of the service under test. */
export const OPERATOR_TOKEN = 'a-token-for-the-crash-test-alone'

const PROGRAM = fileURLToPath(new URL('../../cardstall.js', import.meta.url))
const START_TIMEOUT_MS = 180_000

/** A service in one or more processes, which can be killed and restarted. An index identifies a process across restarts. */
export type Processes = {
  /** Base URL of each process. */
  urls: string[]
  /** Log file of each process. */
  logs: string[]
  /** Starts a process that isn't running, without waiting until it is ready. */
  start(index: number): void
  /** Resolves when the process is ready or was killed. */
  ready(index: number): Promise<void>
  /** Sends SIGKILL to a process. */
  kill(index: number): Promise<void>
  /** Sends SIGKILL to the embedded PostgreSQL; does nothing to another one. */
  killDatabase(): Promise<void>
  /** Stops all processes with SIGTERM; the last one stops the embedded PostgreSQL. */
  stop(): Promise<void>
  /** Processes that exited by themselves, or with an error after SIGTERM. */
  unexpectedExits: string[]
}

type Running = {
  child: ChildProcess
  isReady: boolean
  isExpectedToRun: boolean
  ended: Promise<void>
}

/**
 * Imports a small catalog into the embedded PostgreSQL of a folder: with the bundled one, most of the test's time would
 * be the restarts.
 */
export function importSmallCatalog(folder: string): void {
  const file = join(folder, 'catalog.ndjson')
  writeFileSync(file, CATALOG_FIXTURE.map((record) => JSON.stringify(record)).join('\n'))
  const { status, stderr } = spawnSync(process.execPath, [PROGRAM, 'catalog:import', file], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: homedir(), DATA_DIR: join(folder, 'data') },
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`The catalog was not imported: ${stderr}`)
}

/**
 * Prepares a service of `count` processes, without starting them.
 *
 * @param folder contains DATA_DIR and the logs
 * @param settings override the defaults of a crash test
 */
export async function openProcesses(
  count: number,
  folder: string,
  databaseUrl: string | undefined,
  settings: Record<string, string> = {},
): Promise<Processes> {
  const dataDir = join(folder, 'data')
  const ports: number[] = []
  while (ports.length < count) ports.push(await freePort())
  const running: (Running | undefined)[] = ports.map(() => undefined)
  const unexpectedExits: string[] = []
  const logs = ports.map((_port, index) => join(folder, `process-${index + 1}.log`))
  mkdirSync(dataDir, { recursive: true })

  const killAll = () => {
    for (const process of running) process?.child.kill('SIGKILL')
    const postmaster = postmasterOf(dataDir)
    if (postmaster) process.kill(postmaster, 'SIGQUIT')
  }
  // In case the script exits early.
  process.once('exit', killAll)

  const start = (index: number) => {
    const log = logs[index]!
    const output = openSync(log, 'a')
    const child = spawn(process.execPath, [PROGRAM, 'serve'], {
      cwd: folder,
      // The script's own environment may contain settings of another service.
      env: {
        PATH: process.env.PATH,
        HOME: homedir(),
        ...SETTINGS,
        ...settings,
        PORT: String(ports[index]),
        DATA_DIR: dataDir,
        ...(databaseUrl ? { DATABASE_URL: databaseUrl } : {}),
      },
      // Keeps Ctrl-C from reaching the service: the script stops it.
      detached: true,
      stdio: ['ignore', 'pipe', output],
    })
    closeSync(output)
    const started: Running = {
      child,
      isReady: false,
      isExpectedToRun: true,
      ended: once(child, 'exit').then(([code, signal]) => {
        if (started.isExpectedToRun || (!signal && code !== 0)) {
          unexpectedExits.push(
            `Process ${index + 1} exited unexpectedly with ${signal ?? code}. The end of its log:\n${readFileSync(log, 'utf8').slice(-1_000)}`,
          )
        }
      }),
    }
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      if (text.includes('Cardstall is ready.')) started.isReady = true
    })
    running[index] = started
  }

  const end = async (target: Running | undefined, signal: 'SIGKILL' | 'SIGTERM') => {
    if (!target) return
    target.isExpectedToRun = false
    target.child.kill(signal)
    await target.ended
  }

  return {
    urls: ports.map((port) => `http://127.0.0.1:${port}`),
    logs,
    unexpectedExits,
    start,
    async ready(index) {
      const deadline = performance.now() + START_TIMEOUT_MS
      const target = running[index]!
      while (!target.isReady && target.isExpectedToRun && target.child.exitCode === null) {
        if (performance.now() > deadline) {
          throw new Error(`Process ${index + 1} is not ready after ${START_TIMEOUT_MS / 1000} s.`)
        }
        await sleep(10)
      }
    },
    kill: (index) => end(running[index], 'SIGKILL'),
    async killDatabase() {
      const pid = postmasterOf(dataDir)
      if (!pid) return
      process.kill(pid, 'SIGKILL')
      while (postmasterOf(dataDir)) await sleep(10)
    },
    async stop() {
      await Promise.all(running.map((target) => end(target, 'SIGTERM')))
      process.removeListener('exit', killAll)
    },
  }
}

const SETTINGS = {
  SANDBOX: 'true',
  OPERATOR_TOKEN,
  SECRET_KEY: 'a-secret-for-the-crash-test-alone',
  LOG_LEVEL: 'warn',
  RATE_LIMIT_READ: '1000000000',
  RATE_LIMIT_WRITE: '1000000000',
  WEBHOOK_ALLOW_PRIVATE: 'true',
  // The lease of a delivery depends on this timeout: a short one makes recovery after a kill faster.
  WEBHOOK_TIMEOUT_MS: '2000',
}

/** The pid of this directory's PostgreSQL, if it runs. The pid file alone may be stale, and its pid reused. */
function postmasterOf(dataDir: string): number | undefined {
  try {
    const cluster = realpathSync(join(dataDir, 'postgres'))
    const pid = Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0])
    const { stdout } = spawnSync('ps', ['-o', 'stat=,args=', '-p', String(pid)], {
      encoding: 'utf8',
    })
    return /^[^Z]/.test(stdout) && stdout.includes(cluster) ? pid : undefined
  } catch {
    return undefined
  }
}
