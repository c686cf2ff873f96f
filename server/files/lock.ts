import { DatabaseSync } from 'node:sqlite'
import { StartError } from '../start-error.ts'
import { waitUntil } from '../time/wait-until.ts'

/** For a first start on a slow disk. */
const TIMEOUT_MS = 60_000
const SQLITE_BUSY = 5

/**
 * Takes the lock that only one process at a time can have, and hands back its release; undefined when
 * somebody else keeps it for a minute.
 *
 * Node has no flock, but its SQLite locks files with the operating system's own locks. They end with the
 * process that holds them, however it ends, so there is no stale lock to recognise: a file holding a
 * pid cannot be told from a living one when a container restarts and hands out the same pids again.
 */
export function lockExclusive(
  path: string,
  timeoutMs = TIMEOUT_MS,
): Promise<(() => void) | undefined> {
  return lockWith(path, 'begin exclusive', timeoutMs)
}

/** The same for a lock that several processes can have at a time, and that keeps out those who want it alone. */
export function lockShared(path: string): Promise<(() => void) | undefined> {
  // A transaction that has read shares the file until its end.
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
    // Waiting happens in waitUntil(): SQLite's own would block the event loop.
    return new DatabaseSync(path, { timeout: 0 })
  } catch (error) {
    throw new StartError(`cannot open ${path}: ${(error as Error).message}`, { cause: error })
  }
}

function tryToBegin(file: DatabaseSync, path: string, begin: string): true | undefined {
  try {
    // Nothing is ever written, so no journal needs to lie beside it.
    file.exec(`pragma journal_mode = memory; ${begin}`)
    return true
  } catch (error) {
    if (file.isTransaction) file.exec('rollback')
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined
    throw new StartError(`cannot lock ${path}: ${(error as Error).message}`, { cause: error })
  }
}
