import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { connectAlone } from '../database/connect.ts'
import { type EmbeddedDatabase, startEmbedded } from '../database/embedded/embedded.ts'
import { SHARED_HOME } from '../database/embedded/os-user.ts'
import { StartError } from '../start-error.ts'
import { waitUntil } from '../time/wait-until.ts'
import { madeOnce } from './made-once.ts'
import { until } from './until.ts'
import { whenFileEnds } from './when-file-ends.ts'

// Directories, processes and clean-up for the tests of the embedded database, which start real servers and kill real
// processes.

export const isRoot = process.geteuid?.() === 0
export const server = fileURLToPath(new URL('../', import.meta.url))

const homes: string[] = []
const children: ChildProcess[] = []
const databases: EmbeddedDatabase[] = []

/** A new directory that other OS users may enter, unlike one of mkdtemp. */
export function newHome(): string {
  const home = mkdtempSync(join(realpathSync(tmpdir()), 'cardstall-embedded-'))
  chmodSync(home, 0o755)
  homes.push(home)
  whenFileEnds(cleanUp)
  return home
}

/** A DATA_DIR with an empty database and no running server; a copy of one that is made once. */
export async function emptyDatabase(): Promise<string> {
  const template = await madeOnce('empty-database', async (folder) => {
    const dataDir = join(folder, 'data')
    await (await startEmbedded({ dataDir })).stop()
    unlinkSync(join(dataDir, 'postgres.log'))
  })
  const home = newHome()
  execFileSync('cp', ['-a', join(template, 'data'), home])
  return join(home, 'data')
}

/** Makes the database of a DATA_DIR a read-only standby from its next start until `pg_promote()`. */
export function makeStandby(dataDir: string): void {
  const cluster = realpathSync(join(dataDir, 'postgres'))
  const { uid, gid } = statSync(join(cluster, 'PG_VERSION'))
  writeFileSync(join(cluster, 'standby.signal'), '')
  chownSync(join(cluster, 'standby.signal'), uid, gid)
}

/** Starts an embedded database in this process. */
export async function start(
  dataDir: string,
  options: { databaseName?: string } = {},
): Promise<EmbeddedDatabase> {
  const database = await startEmbedded({ dataDir, ...options })
  databases.push(database)
  return database
}

type Spawned = { checkout?: string; preload?: string; uid?: number; gid?: number }

/** Starts an embedded database in a separate process, which a test can kill. */
export async function startProcess(dataDir: string, spawned: Spawned = {}) {
  const child = spawnUser(dataDir, spawned)
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  const nextMessage = async () => JSON.parse((await lines.next()).value ?? 'null')
  const database: EmbeddedDatabase & { message?: string } = await nextMessage()
  if (!database?.url) throw new Error(database?.message ?? 'the process printed no message')
  const stop = async () => {
    child.stdin!.write('stop\n')
    expect(await nextMessage()).toBe('stopped')
    await exited(child)
  }
  return { child, database, nextMessage, stop }
}

/** Starts such a process without waiting for its output. */
export function spawnUser(dataDir: string, { checkout, preload, uid, gid }: Spawned = {}) {
  const script = join(checkout ? join(checkout, 'server') : server, 'test/embedded-user.ts')
  const options = preload ? ['--import', `data:text/javascript,${preload}`] : []
  const child = spawn(process.execPath, [...options, script, dataDir], {
    uid,
    gid,
    cwd: '/',
    // A new process group, as a terminal creates for each command.
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  children.push(child)
  return child
}

/** The first line that a process prints, parsed. */
export async function firstLine(child: ChildProcess): Promise<unknown> {
  for await (const line of createInterface({ input: child.stdout! })) return JSON.parse(line)
}

/** Kills a process, or its whole process group, with SIGKILL, and waits until it has exited. */
export async function kill(child: ChildProcess, which: 'alone' | 'group' = 'alone'): Promise<void> {
  if (hasExited(child)) return
  process.kill(which === 'group' ? -child.pid! : child.pid!, 'SIGKILL')
  await exited(child)
}

export const hasExited = (child: ChildProcess) =>
  child.exitCode !== null || child.signalCode !== null

/** Waits until a process has exited. */
export async function exited(child: ChildProcess): Promise<void> {
  if (!hasExited(child)) await once(child, 'exit')
}

export async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const sql = connectAlone(url, { connect_timeout: 5 })
  try {
    return [...(await sql.unsafe(text))]
  } finally {
    await sql.end({ timeout: 1 })
  }
}

/** Waits until no process uses an embedded server, which notices a moment later that a user was killed. */
export const untilUnused = (url: string) =>
  until('no process uses the server', async () => {
    const users = `select from pg_locks where locktype = 'advisory'`
    return (await query(url, users)).length === 0
  })

export async function expectStartError(
  starting: Promise<unknown>,
  message: string | RegExp,
): Promise<void> {
  const error = await starting.then(
    () => undefined,
    (error) => error,
  )
  expect(error).toBeInstanceOf(StartError)
  expect(error.message).toMatch(message)
  expect(error.message).not.toContain('\n')
}

export const postmasterOf = (dataDir: string) => Number(pidFileOf(dataDir)[0])
export const statusOf = (dataDir: string) => pidFileOf(dataDir)[7]?.trim()
export const logOf = (dataDir: string) => readFileSync(join(dataDir, 'postgres.log'), 'utf8')

function pidFileOf(dataDir: string): string[] {
  try {
    return readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')
  } catch {
    return []
  }
}

/** Whether a process runs. A zombie does not: it stays listed for a while after its parent was killed. */
export const isAlive = (pid: number) => /^[^Z]/.test(stateOf(pid))

/** The state of a process in one letter; empty without the process. Linux tells it without a start of `ps`. */
function stateOf(pid: number): string {
  if (process.platform !== 'linux') return ps(pid, 'stat')
  try {
    // The name of the program, in parentheses, may contain anything.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!
  } catch {
    return ''
  }
}

export function ps(pid: number, column: string): string {
  return spawnSync('ps', ['-o', `${column}=`, '-p', String(pid)], {
    encoding: 'utf8',
  }).stdout.trim()
}

/** Stops what a test left running and removes its directories. */
export async function cleanUp(): Promise<void> {
  await Promise.all(databases.splice(0).map((database) => database.stop().catch(() => {})))
  for (const child of children.splice(0)) await kill(child, 'group')
  for (const home of homes.splice(0)) await removeHome(home)
}

async function removeHome(home: string): Promise<void> {
  for (const dataDir of [home, ...directoriesIn(home)]) {
    const pid = postmasterOf(dataDir)
    // A test may have written the pid file: the pid can belong to any process.
    if (pid && ps(pid, 'args').includes(realpathSync(join(dataDir, 'postgres')))) {
      process.kill(pid, 'SIGQUIT')
      await waitUntil(10_000, () => !isAlive(pid) || undefined)
    }
    const link = join(dataDir, 'postgres')
    const cluster = existsSync(link) ? realpathSync(link) : ''
    if (dirname(cluster) === SHARED_HOME) rmSync(cluster, { recursive: true })
  }
  // An initdb whose parent was killed may still write there for a moment.
  rmSync(home, { recursive: true, force: true, maxRetries: 10 })
}

function directoriesIn(home: string): string[] {
  return readdirSync(home, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(home, entry.name))
}
