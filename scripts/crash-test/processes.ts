import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../server/test/free-port.ts'

/** The operator's token of a service that lives for a crash test. */
export const OPERATOR_TOKEN = 'a-token-for-the-crash-test-alone'

const PROGRAM = fileURLToPath(new URL('../../cardstall.js', import.meta.url))
const START_TIMEOUT_MS = 60_000

/** One service in one or more processes, each of which can be killed and started again where it was. */
export type Processes = {
  /** Where each is reached while it's up. */
  urls: string[]
  /** The file that each one's log goes to. */
  logs: string[]
  /** Starts one that isn't running; it isn't ready yet. */
  start(place: number): void
  /** Resolves once it's ready, or was killed. */
  ready(place: number): Promise<void>
  /** kill -9 */
  kill(place: number): Promise<void>
  /** kill -9 of the embedded PostgreSQL; of no other. */
  killDatabase(): Promise<void>
  /** Ends all of them as an operator would, and the embedded PostgreSQL with them. */
  stop(): Promise<void>
  /** Ends and starts that went wrong by themselves. */
  accidents: string[]
}

type Running = { child: ChildProcess; isReady: boolean; isWanted: boolean; ended: Promise<void> }

/**
 * @param folder where each process's log goes, and DATA_DIR is
 * @param settings in addition to those of every crash test, or instead of them
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
  const accidents: string[] = []
  const logs = ports.map((_port, place) => join(folder, `process-${place + 1}.log`))
  mkdirSync(dataDir, { recursive: true })

  const leaveNothing = () => {
    for (const one of running) one?.child.kill('SIGKILL')
    const postmaster = postmasterOf(dataDir)
    if (postmaster) process.kill(postmaster, 'SIGQUIT')
  }
  // Should the script itself be ended half-way.
  process.once('exit', leaveNothing)

  const start = (place: number) => {
    const log = logs[place]!
    const output = openSync(log, 'a')
    const child = spawn(process.execPath, [PROGRAM, 'serve'], {
      cwd: folder,
      // Nothing of our own environment: it may hold settings for somebody else's service.
      env: {
        PATH: process.env.PATH,
        HOME: homedir(),
        ...SETTINGS,
        ...settings,
        PORT: String(ports[place]),
        DATA_DIR: dataDir,
        ...(databaseUrl ? { DATABASE_URL: databaseUrl } : {}),
      },
      // Ctrl-C is for the script, which ends what it has started.
      detached: true,
      stdio: ['ignore', 'pipe', output],
    })
    closeSync(output)
    const one: Running = {
      child,
      isReady: false,
      isWanted: true,
      ended: once(child, 'exit').then(([code, signal]) => {
        if (one.isWanted || (!signal && code !== 0)) {
          accidents.push(
            `Process ${place + 1} ended by itself with ${signal ?? code}. Its log ends:\n${readFileSync(log, 'utf8').slice(-1_000)}`,
          )
        }
      }),
    }
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      if (text.includes('Cardstall is ready.')) one.isReady = true
    })
    running[place] = one
  }

  const end = async (one: Running | undefined, signal: 'SIGKILL' | 'SIGTERM') => {
    if (!one) return
    one.isWanted = false
    one.child.kill(signal)
    await one.ended
  }

  return {
    urls: ports.map((port) => `http://127.0.0.1:${port}`),
    logs,
    accidents,
    start,
    async ready(place) {
      const deadline = performance.now() + START_TIMEOUT_MS
      const one = running[place]!
      while (!one.isReady && one.isWanted && one.child.exitCode === null) {
        if (performance.now() > deadline) {
          throw new Error(`Process ${place + 1} isn’t ready after ${START_TIMEOUT_MS / 1000} s.`)
        }
        await sleep(10)
      }
    },
    kill: (place) => end(running[place], 'SIGKILL'),
    async killDatabase() {
      const pid = postmasterOf(dataDir)
      if (!pid) return
      process.kill(pid, 'SIGKILL')
      while (postmasterOf(dataDir)) await sleep(10)
    },
    async stop() {
      await Promise.all(running.map((one) => end(one, 'SIGTERM')))
      process.removeListener('exit', leaveNothing)
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
  // With it the lease of a delivery ends soon after its process.
  WEBHOOK_TIMEOUT_MS: '2000',
}

/** The server of this directory, while it runs: the number in its file may be anybody's by now. */
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
