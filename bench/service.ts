import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, openSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { SETTING_NAMES } from '../server/settings/settings.ts'
import { freePort } from '../server/test/free-port.ts'
import { treeOf } from './usage.ts'

export const OWN_CHECKOUT = fileURLToPath(new URL('../', import.meta.url))

/** A checkout of the code, the directory of its data, and its settings. */
export type Program = {
  checkout?: string
  dataDir: string
  settings?: Record<string, string>
}

/** A service in its own process, with an embedded database in its own folder. */
export type Service = {
  port: number
  dataDir: string
  /** The demo seller's key. */
  key: string
  operatorToken: string
  /** Time from spawning the process to its ready line. */
  readyMs: number
  /** The running processes of the service, without those of PostgreSQL. */
  pids(): number[]
  /** The running processes of PostgreSQL. */
  postgresPids(): number[]
  /** Sends JSON with the operator's token, or with a key, and returns the JSON of a successful response. */
  // biome-ignore lint/suspicious/noExplicitAny: the callers know the shapes of these responses
  post(path: string, body: object, key?: string): Promise<any>
  stop(): Promise<void>
}

const DEMO_KEY_LINE = /^ *demo key +(\S+)$/m

/** Starts the service with its default log level, and waits until it is ready. The log replaces `DATA_DIR.log`. */
export async function startService(program: Program): Promise<Service> {
  const { dataDir } = program
  const port = await freePort()
  const settings = { PORT: String(port), ...program.settings }
  const began = performance.now()
  const child = launch({ ...program, settings }, ['serve'])
  const key = await new Promise<string>((resolve, reject) => {
    let output = ''
    child.stdout?.on('data', (text) => {
      output += text
      const ready = DEMO_KEY_LINE.exec(output)
      if (ready) resolve(ready[1]!)
    })
    child.once('exit', (code) =>
      reject(new Error(`serve exited with code ${code}, see ${dataDir}.log`)),
    )
  })
  const readyMs = performance.now() - began
  const operatorToken = readFileSync(join(dataDir, 'secrets/operator-token'), 'utf8').trim()
  const postmaster = postmasterOf(dataDir).pid
  return {
    port,
    dataDir,
    key,
    operatorToken,
    readyMs,
    pids: () => treeOf(child.pid!, postmaster),
    postgresPids: () => treeOf(postmaster),
    async post(path, body, token = operatorToken) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
      return response.json()
    },
    async stop() {
      if (child.exitCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

/** Runs a command that exits by itself. */
export async function runCommand(program: Program, ...parameters: string[]): Promise<void> {
  const child = launch(program, parameters)
  child.stdout?.resume()
  const [code] = await once(child, 'exit')
  if (code !== 0) {
    throw new Error(`${parameters[0]} exited with code ${code}, see ${program.dataDir}.log`)
  }
}

function launch(program: Program, parameters: string[]): ChildProcess {
  const { checkout = OWN_CHECKOUT, dataDir, settings } = program
  mkdirSync(dataDir, { recursive: true })
  const log = openSync(`${dataDir}.log`, 'w')
  return spawn(process.execPath, [join(checkout, 'cardstall.js'), ...parameters], {
    // A directory without .env, because its settings would replace empty variables.
    cwd: dataDir,
    env: { ...withoutSettings(), DATA_DIR: resolve(dataDir), ...BENCH_SETTINGS, ...settings },
    stdio: ['ignore', 'pipe', log],
  })
}

/**
 * Requests are counted as usual, but never reach the limit. Webhooks reach the receiver on this machine, and the log of
 * deliveries is not pruned.
 */
const BENCH_SETTINGS = {
  RATE_LIMIT_READ: '1000000000',
  RATE_LIMIT_WRITE: '1000000000',
  MCP_PUBLIC_RATE: '1000000000',
  WEBHOOK_ALLOW_PRIVATE: 'true',
  WEBHOOK_RETENTION_DAYS: '3650',
}

/** The environment with every setting empty, which counts as absent. */
const withoutSettings = (): NodeJS.ProcessEnv => ({
  ...process.env,
  ...Object.fromEntries(SETTING_NAMES.map((name) => [name, ''])),
})

/** The address of a service's embedded database, as options of the client: the Unix socket if there is one. */
export type Address = { host: string; port: number; path?: string; password: string }

export function addressOf({ dataDir }: { dataDir: string }): Address {
  const { port, socketFolder } = postmasterOf(dataDir)
  return {
    host: '127.0.0.1',
    port,
    ...(socketFolder && { path: `${socketFolder}/.s.PGSQL.${port}` }),
    password: readFileSync(join(dataDir, 'postgres.password'), 'utf8').trim(),
  }
}

/** Connects to an embedded database without the service's own code, which other versions may not have. */
export const connectTo = (address: Address, max: number) =>
  postgres({
    ...address,
    user: 'cardstall',
    database: 'cardstall',
    max,
    onnotice: () => {},
    // plans.ts wants the plans of the service alone.
    connection: { 'auto_explain.log_min_duration': '-1' },
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
  }) as unknown as Database

/** Numbers represent `bigint`. */
export type Database = postgres.Sql<{ bigint: number }>

function postmasterOf(dataDir: string) {
  const lines = readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')
  return { pid: Number(lines[0]), port: Number(lines[3]), socketFolder: lines[4] }
}
