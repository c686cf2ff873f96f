import { accessSync, constants } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { StartError } from '../start-error.ts'
import { waitUntil } from '../time/wait-until.ts'

/** Longer than a first start on a slow disk, which holds a lock all the time. */
const TIMEOUT_MS = 60_000
const SQLITE_BUSY = 5
const EXCLUSIVE = 'begin exclusive'

/**
 * Acquires an exclusive lock between processes. Returns its release, or undefined after the timeout.
 *
 * Node has no flock, but its SQLite uses the operating system's file locks. They end with their process, however it
 * ends, so there are no stale locks. A file with a pid could not guarantee that, because a restarted container uses the
 * same pids again.
 */
export function lockExclusive(
  path: string,
  timeoutMs = TIMEOUT_MS,
): Promise<(() => void) | undefined> {
  return lockWith(path, EXCLUSIVE, timeoutMs)
}

/** Acquires a shared lock, which several processes can hold and which excludes exclusive ones. */
export function lockShared(path: string): Promise<(() => void) | undefined> {
  // A transaction that has read holds a shared lock until its end.
  return lockWith(path, 'begin; select count(*) from sqlite_schema', TIMEOUT_MS)
}

async function lockWith(
  path: string,
  begin: string,
  timeoutMs: number,
): Promise<(() => void) | undefined> {
  const file = open(path)
  const taken = await waitUntil(timeoutMs, () => tryToBegin(file, path, begin)).catch((error) => {
    file.close()
    throw error
  })
  if (!taken) file.close()
  return taken && (() => file.close())
}

function open(path: string): DatabaseSync {
  try {
    // waitUntil() waits instead: SQLite's own timeout would block the event loop.
    return new DatabaseSync(path, { timeout: 0 })
  } catch (error) {
    throw new StartError(`cannot open ${path}: ${reasonOf(error, path)}`, { cause: error })
  }
}

function tryToBegin(file: DatabaseSync, path: string, begin: string): true | undefined {
  try {
    // SQLite takes a shared lock instead on a file that it may only read.
    if (begin === EXCLUSIVE) accessSync(path, constants.W_OK)
    // In memory, because nothing is ever written: no journal file appears next to it.
    file.exec(`pragma journal_mode = memory; ${begin}`)
    return true
  } catch (error) {
    if (file.isTransaction) file.exec('rollback')
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined
    throw new StartError(`cannot lock ${path}: ${reasonOf(error, path)}`, { cause: error })
  }
}

/** The missing permission, which SQLite does not name; otherwise SQLite's reason. */
function reasonOf(error: unknown, path: string): string {
  try {
    // Without opening it: closing it would release the locks of this process.
    accessSync(path, constants.R_OK | constants.W_OK)
  } catch (refusal) {
    const { code, message } = refusal as NodeJS.ErrnoException
    if (code !== 'ENOENT') return message
  }
  return (error as Error).message
}
