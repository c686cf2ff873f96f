import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, openSync } from 'node:fs'
import { SETTING_NAMES } from '../server/settings/settings.ts'
import { freePort } from '../server/test/free-port.ts'

/** The service as anybody runs it: a process of its own, with the embedded database in a folder of its own. */
export type Service = {
  pid: number
  port: number
  /** The demo seller's key. */
  key: string
  /** From spawning the process to the line that says it's ready. */
  readySeconds: number
  stop(): Promise<void>
}

const ROOT = new URL('../', import.meta.url)
const READY = /^ *demo key +(\S+)$/m

/** Starts the service, logging as it does by default, and waits until it's ready. The log goes to `DATA_DIR.log`. */
export async function startService(
  dataDir: string,
  nodeFlags: string[] = [],
  settings: Record<string, string> = {},
): Promise<Service> {
  const port = await freePort()
  const began = performance.now()
  const child = launch(dataDir, ['serve'], { PORT: String(port), ...settings }, nodeFlags)
  const key = await new Promise<string>((resolve, reject) => {
    let told = ''
    child.stdout?.on('data', (text) => {
      told += text
      const ready = READY.exec(told)
      if (ready) resolve(ready[1]!)
    })
    child.once('exit', (code) => reject(new Error(`serve ended with ${code}, see ${dataDir}.log`)))
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

/** Runs a verb of the service that ends by itself. */
export async function runVerb(dataDir: string, ...parameters: string[]) {
  const began = performance.now()
  const child = launch(dataDir, parameters)
  child.stdout?.resume()
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`${parameters[0]} ended with ${code}, see ${dataDir}.log`)
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
    env: { ...withoutSettings(), DATA_DIR: dataDir, ...NEVER_REFUSED, ...settings },
    stdio: ['ignore', 'pipe', log],
  })
  return child
}

/** Requests are counted as ever, but the limit is out of reach. */
const NEVER_REFUSED = { RATE_LIMIT_READ: '1000000000', RATE_LIMIT_WRITE: '1000000000' }

/** The environment without settings. They are empty, so that neither the environment's nor those of .env count. */
const withoutSettings = (): NodeJS.ProcessEnv => ({
  ...process.env,
  ...Object.fromEntries(SETTING_NAMES.map((name) => [name, ''])),
})
