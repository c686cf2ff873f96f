import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { access, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { lockExclusive } from '../files/lock.ts'
import type { Log } from '../log.ts'
import { killedBy } from '../text/killed-by.ts'

const DASHBOARD = fileURLToPath(new URL('../../dashboard', import.meta.url))

/** In the built folder: the hash of the sources that it was built from, or of those that could not be built. */
const BUILT_FROM = '.built-from'
const FAILED = '.failed'
/** A build is less urgent than requests (`nice`). */
const PRIORITY = 10
const MAX_OUTPUT_LENGTH = 4_000

/** `missing`: there are no built files, and no tools to build them. */
export type BuildState = 'ready' | 'building' | 'failed' | 'missing'

export type DashboardBuild = {
  /** The folder of the built files. */
  directory: string
  state(): Promise<BuildState>
  /** Builds the page in the background if its sources have changed. A failure is logged, never thrown. */
  start(log: Log): { done: Promise<void>; stop(): Promise<void> }
}

/**
 * The built page of the dashboard. It isn't committed: a start compares the hash of its sources with that of the built
 * files, and builds them in a child process if they differ. All state is in files, because several processes and services
 * share a checkout.
 *
 * @param root the dashboard's folder, in the repository's
 */
export function dashboardBuild(root = DASHBOARD): DashboardBuild {
  const directory = path.join(root, 'dist')
  const vite = path.join(root, '../node_modules/vite/bin/vite.js')
  let wanted: Promise<string | undefined> | undefined
  const hashOnce = () => {
    wanted ??= sourceHash(root)
    return wanted
  }
  const read = (name: string) => readText(path.join(directory, name))

  async function state(): Promise<BuildState> {
    const [sources, built] = await Promise.all([hashOnce(), read(BUILT_FROM)])
    // An image has the built files alone.
    if (built !== undefined && (sources === undefined || built === sources)) return 'ready'
    if (sources === undefined || !(await exists(vite))) return built ? 'ready' : 'missing'
    return (await read(FAILED)) === sources ? 'failed' : 'building'
  }

  async function build(log: Log, run: Run): Promise<void> {
    if (!['building', 'failed'].includes(await state())) return
    const release = await lockExclusive(path.join(root, '.build-lock'))
    try {
      // Another service may have built it meanwhile.
      const current = await state()
      if (!release || run.isStopped || !['building', 'failed'].includes(current)) return
      const startedAt = performance.now()
      const target = path.join(root, 'dist-new')
      const failure = await runVite(run, [vite, 'build', root, '--outDir', target])
      if (run.isStopped) return
      const sources = (await hashOnce())!
      if (failure) {
        log.error(failure, 'the dashboard could not be built')
        await mkdir(directory, { recursive: true })
        await writeFile(path.join(directory, FAILED), sources)
        return
      }
      await writeFile(path.join(target, BUILT_FROM), sources)
      await rm(directory, { recursive: true, force: true })
      await rename(target, directory)
      log.info({ ms: Math.round(performance.now() - startedAt) }, 'built the dashboard')
    } finally {
      release?.()
    }
  }

  return {
    directory,
    state,
    start(log) {
      const run: Run = { isStopped: false, stop: () => {} }
      const done = build(log, run).catch((error) => {
        log.error({ err: error }, 'the dashboard could not be built')
      })
      return {
        done,
        stop() {
          run.isStopped = true
          run.stop()
          return done
        },
      }
    },
  }
}

type Run = { isStopped: boolean; stop(): void }

/** The end of the output of a failed build, and the reason if it did not end by itself. */
type Failure = { reason?: string; output: string }

/** Runs the build in a child process. Returns undefined if it has succeeded. */
function runVite(run: Run, command: string[]): Promise<Failure | undefined> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...command, '--emptyOutDir', '--logLevel', 'warn'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    run.stop = () => child.kill()
    let output = ''
    const append = (bytes: Buffer) => {
      output = (output + bytes.toString()).slice(-MAX_OUTPUT_LENGTH)
    }
    child.stdout.on('data', append)
    child.stderr.on('data', append)
    child.once('error', ({ message }) => resolve({ reason: message, output }))
    child.once('close', (code, signal) => {
      if (code === 0) resolve(undefined)
      else resolve(signal ? { reason: killedBy(signal), output } : { output })
    })
    try {
      if (child.pid !== undefined) os.setPriority(child.pid, PRIORITY)
    } catch {
      // It may have ended already.
    }
  })
}

/** Files outside of the dashboard's folder that determine the built files. */
const SHARED = [
  '../package-lock.json',
  '../server/enums.ts',
  '../server/http/public/scalar.ts',
  '../sdk/src/csv.ts',
  '../sdk/src/csv-preview.ts',
]

/** A hash of everything that the page is built from. Undefined without sources. */
async function sourceHash(root: string): Promise<string | undefined> {
  const names = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = names
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .filter((name) => !/^(dist|dist-new)[\\/]|^\.|\.md$/.test(name))
    .sort()
  if (!files.includes('index.html')) return undefined
  const hashes = await Promise.all(
    [...files, ...SHARED].map(async (name) => {
      const bytes = await readFile(path.join(root, name)).catch(() => Buffer.of())
      return `${name} ${hash('sha256', bytes)}`
    }),
  )
  return hash('sha256', hashes.join('\n'))
}

const readText = (file: string): Promise<string | undefined> =>
  readFile(file, 'utf8').catch(() => undefined)

const exists = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  )
