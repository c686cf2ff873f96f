import { access, constants } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Config } from '../config.ts'
import { StartError } from '../start-error.ts'
import { lockShared } from './lock.ts'
import { makeDataDir } from './make-directory.ts'

/** The lock that every running service shares in its DATA_DIR. */
export const IN_USE_LOCK = 'in-use.lock'

/**
 * Creates DATA_DIR if necessary, and marks it as in use until the returned function is called. Does nothing for a service
 * that stores nothing there.
 *
 * @throws StartError if it cannot be used
 */
export async function useDataDir(config: Config): Promise<() => void> {
  const { dataDir, databaseUrl, sandbox, storageUrl } = config
  const storesFiles = storageUrl.startsWith(`${pathToFileURL(dataDir).href}/`)
  if (databaseUrl !== undefined && !sandbox && !storesFiles) return () => {}
  try {
    await makeDataDir(dataDir)
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new StartError(`DATA_DIR ${dataDir} can't be used: ${(error as Error).message}`)
  }
  const release = await lockShared(path.join(dataDir, IN_USE_LOCK)).catch((error) => {
    // Some network file systems have no locks. Only the embedded database requires them.
    if (databaseUrl !== undefined) return () => {}
    throw error
  })
  if (!release) throw new StartError(`DATA_DIR ${dataDir} can't be used: it is being reset.`)
  return release
}
