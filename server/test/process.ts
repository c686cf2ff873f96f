import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'
import { cleanUp, exited, hasExited, isAlive, newHome } from './embedded-homes.ts'
import { freePort } from './free-port.ts'
import { whenFileEnds } from './when-file-ends.ts'

const PROGRAM = fileURLToPath(new URL('../../cardstall.js', import.meta.url))
const OLDEST_NODE = 26

/** The end of a process, and its whole output. */
export type Ended = {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

/** A response of a service. */
export type TestResponse = {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into responses freely
  body: any
}

export type Settings = Partial<Record<string, string>>

const children: ChildProcess[] = []
const killChildren = () => {
  for (const child of children) child.kill('SIGKILL')
}

// Ends the processes of an interrupted test run.
process.once('exit', killChildren)

/** Kills the processes that a failed test left running, and cleans up their directories. */
async function killLeftovers(): Promise<void> {
  killChildren()
  await Promise.all(children.splice(0).map(exited))
  await cleanUp()
}

/** A path for a DATA_DIR that does not exist yet, as before a first start. */
export const newDataDir = () => join(newHome(), 'data')

/**
 * Runs `cardstall.js` with these parameters until it exits. `dotEnv` is the content of .env in its working directory;
 * "directory" creates a directory of that name instead.
 */
export async function runToEnd(
  parameters: string[],
  settings: Settings,
  options: { node?: string; dotEnv?: string; program?: string } = {},
): Promise<Ended> {
  return launch(parameters, settings, options).ended
}

/** A command that runs until it is stopped. */
export type Command = {
  /** Its output so far. */
  stdout(): string
  stderr(): string
  /** Closes the pipes that its output goes to. */
  closeOutput(): void
  /** Resolves when standard output contains this text. Throws if the process exits first. */
  prints(text: string): Promise<void>
  signal(signal: NodeJS.Signals): void
  /** Resolves when the process has ended. */
  ended: Promise<Ended>
  /** Sends a signal and waits until the process has ended. */
  stop(signal?: NodeJS.Signals): Promise<Ended>
}

/** Starts `cardstall.js` with these parameters. */
export function startCommand(parameters: string[], settings: Settings): Command {
  return commandOf(launch(parameters, settings, {}))
}

export type Service = Command & {
  pid: number
  port: number
  dataDir: string
  log(): Record<string, unknown>[]
  /** Resolves when the service has printed that it is ready. */
  ready(): Promise<Service>
  /** The values that it printed for its user. */
  printed(): {
    key: string
    token: string
    baseUrl: string
    docs: string
    console: string
    curl: string
  }
  call(
    method: string,
    path: string,
    options?: { token?: string; body?: unknown },
  ): Promise<TestResponse>
  get(path: string, token?: string): Promise<TestResponse>
}

/**
 * Starts `node cardstall.js serve` on a free loopback port, without waiting until it is ready.
 *
 * @param options.group the process leads a process group, and signals go to the group, as in a terminal
 * @param options.dotEnv the content of .env in its working directory
 * @param options.preload the source of a module that Node loads first
 * @param options.program the path of another cardstall.js
 */
export async function startService(
  settings: Settings = {},
  options: { dotEnv?: string; group?: boolean; preload?: string; program?: string } = {},
): Promise<Service> {
  const port = Number(settings.PORT ?? (await freePort()))
  const dataDir = settings.DATA_DIR ?? newDataDir()
  const all = { PORT: String(port), DATA_DIR: dataDir, ...settings }
  const launched = launch(['serve'], all, options)
  const command = commandOf(launched, options)

  const call: Service['call'] = async (method, path, { token, body } = {}) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: {
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      body: body ? JSON.stringify(body) : null,
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson && text ? JSON.parse(text) : undefined,
    }
  }
  const service: Service = {
    ...command,
    pid: launched.child.pid!,
    port,
    dataDir,
    log: () => jsonLines(command.stderr()),
    async ready() {
      await command.prints('Cardstall is ready.')
      return service
    },
    printed: () => parseReadyOutput(command.stdout()),
    call,
    get: (path, token) => call('GET', path, { token }),
  }
  return service
}

function commandOf(
  { child, ended, output }: Launched,
  { group = false }: { group?: boolean } = {},
): Command {
  const signal = (name: NodeJS.Signals) => {
    if (!hasExited(child)) process.kill(group ? -child.pid! : child.pid!, name)
  }
  return {
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    closeOutput() {
      child.stdout?.destroy()
      child.stderr?.destroy()
    },
    async prints(text) {
      while (!output.stdout.includes(text)) {
        if (await Promise.race([ended, once(child.stdout!, 'data').then(() => undefined)])) {
          throw new Error(`The process ended without printing "${text}":\n${output.stderr}`)
        }
      }
    },
    signal,
    ended,
    stop(name = 'SIGTERM') {
      signal(name)
      return ended
    },
  }
}

type Launched = {
  child: ChildProcess
  ended: Promise<Ended>
  output: { stdout: string; stderr: string }
}

function launch(
  parameters: string[],
  settings: Settings,
  options: {
    node?: string
    program?: string
    group?: boolean
    preload?: string
    dotEnv?: string
  },
): Launched {
  const home = newHome()
  if (options.dotEnv === 'directory') mkdirSync(join(home, '.env'))
  else if (options.dotEnv !== undefined) writeFileSync(join(home, '.env'), options.dotEnv)
  const all = [options.program ?? PROGRAM, ...parameters]
  if (options.preload) {
    all.unshift('--import', `data:text/javascript,${encodeURIComponent(options.preload)}`)
  }
  const child = spawn(options.node ?? process.execPath, all, {
    // A neutral directory, and nothing of the test run's environment.
    cwd: home,
    env: {
      PATH: process.env.PATH,
      HOME: homedir(),
      // The paths of a copy are new in each run: its compiled modules must not stay in the user's cache.
      ...(options.program && { NODE_COMPILE_CACHE: join(inject('folder'), 'compiled') }),
      ...settings,
    },
    detached: options.group ?? false,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  whenFileEnds(killLeftovers)
  const output = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.setEncoding('utf8').on('data', (text: string) => {
      output[stream] += text
    })
  }
  const ended = new Promise<Ended>((resolve) => {
    // Not "exit": at that event, some output may not have arrived yet.
    child.once('close', (code, signal) => resolve({ code, signal, ...output }))
  })
  return { child, ended, output }
}

function parseReadyOutput(stdout: string): ReturnType<Service['printed']> {
  const after = (label: RegExp) => stdout.match(label)?.[1] ?? ''
  return {
    baseUrl: after(/^ +base URL +(\S+)$/m),
    key: after(/^ +demo key +(\S+)$/m),
    token: after(/^ +operator token +(\S+)$/m),
    docs: after(/^ +docs +(\S+)$/m),
    console: after(/^ +console +(\S+)$/m),
    curl: after(/^ +(curl .*)$/m),
  }
}

/** Parses standard error, where every line must be a JSON object. */
export function jsonLines(text: string): Record<string, unknown>[] {
  const lines = text.split('\n')
  // The last line may be incomplete.
  lines.pop()
  return lines.map((line) => {
    try {
      return JSON.parse(line)
    } catch {
      throw new Error(`Not a line of JSON on standard error: ${line}`)
    }
  })
}

/** The embedded server of a DATA_DIR, found through its files. */
export function embedded(dataDir: string): { pid: number; url: string } {
  const [pid, , , port] = readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')
  const password = readFileSync(join(dataDir, 'postgres.password'), 'utf8').trim()
  return { pid: Number(pid), url: `postgres://cardstall:${password}@127.0.0.1:${port}/cardstall` }
}

/** Whether the server with this pid has stopped and no other runs in this DATA_DIR. */
export const isOff = (dataDir: string, pid: number) =>
  !isAlive(pid) && !existsSync(join(dataDir, 'postgres/postmaster.pid'))

/** A Node on PATH that is too old for Cardstall; a test is skipped without one. */
export const oldNode = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((directory) => directory && !directory.includes('node_modules'))
  .map((directory) => join(directory, 'node'))
  .find((node) => {
    const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' })
    return stdout && Number(stdout.match(/^v(\d+)/)?.[1]) < OLDEST_NODE
  })

if (!oldNode) {
  console.warn(
    `SKIPPED: the error for an older Node. There is no Node before ${OLDEST_NODE} on PATH.`,
  )
}
