import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, openSync } from 'node:fs'
import { SETTING_NAMES } from '../server/settings/settings.ts'
import { freePort } from '../server/test/free-port.ts'

/** A service in its own process, with an embedded database in its own folder. */
export type Service = {
  pid: number
  port: number
  /** The demo seller's key. */
  key: string
  /** Time from spawning the process to its ready line. */
  readySeconds: number
  stop(): Promise<void>
}

const ROOT = new URL('../', import.meta.url)
const DEMO_KEY_LINE = /^ *demo key +(\S+)$/m

/** Starts the service with its default log level, and waits until it is ready. The log goes to `DATA_DIR.log`. */
export async function startService(
  dataDir: string,
  nodeFlags: string[] = [],
  settings: Record<string, string> = {},
): Promise<Service> {
  const port = await freePort()
  const began = performance.now()
  const child = launch(dataDir, ['serve'], { PORT: String(port), ...settings }, nodeFlags)
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
  const readySeconds = (performance.now() - began) / 1000
  return {
    pid: child.pid!,
    port,
    key,
    readySeconds,
    async stop() {
      if (child.exitCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

/** Runs a command that exits by itself, and measures its duration. */
export async function runCommand(dataDir: string, ...parameters: string[]) {
  const began = performance.now()
  const child = launch(dataDir, parameters)
  child.stdout?.resume()
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`${parameters[0]} exited with code ${code}, see ${dataDir}.log`)
  return { seconds: (performance.now() - began) / 1000 }
}

function launch(
  dataDir: string,
  parameters: string[],
  settings: Record<string, string> = {},
  nodeFlags: string[] = [],
): ChildProcess {
  mkdirSync(dataDir, { recursive: true })
  const log = openSync(`${dataDir}.log`, 'a')
  const child = spawn(process.execPath, [...nodeFlags, 'cardstall.js', ...parameters], {
    cwd: ROOT,
    env: { ...withoutSettings(), DATA_DIR: dataDir, ...HIGH_RATE_LIMITS, ...settings },
    stdio: ['ignore', 'pipe', log],
  })
  return child
}

/** Requests are counted as usual, but never reach the limit. */
const HIGH_RATE_LIMITS = { RATE_LIMIT_READ: '1000000000', RATE_LIMIT_WRITE: '1000000000' }

/** The environment with every setting empty, which also overrides the settings in .env. */
const withoutSettings = (): NodeJS.ProcessEnv => ({
  ...process.env,
  ...Object.fromEntries(SETTING_NAMES.map((name) => [name, ''])),
})
