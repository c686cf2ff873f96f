import { access, constants } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Config } from '../config.ts'
import { StartError } from '../start-error.ts'
import { lockShared } from './lock.ts'
import { makeDirectory } from './make-directory.ts'

/** Every service that uses a DATA_DIR shares this lock in it, for as long as it runs. */
export const IN_USE_LOCK = 'in-use.lock'

/**
 * Makes DATA_DIR if it's missing, and marks it as in use until the returned function is called. A service that keeps
 * nothing there leaves it alone.
 *
 * @throws StartError when it can't be used
 */
export async function useDataDir(config: Config): Promise<() => void> {
  const { dataDir, databaseUrl, sandbox, storageUrl } = config
  const keepsFiles = storageUrl.startsWith(`${pathToFileURL(dataDir).href}/`)
  if (databaseUrl !== undefined && !sandbox && !keepsFiles) return () => {}
  try {
    await makeDirectory(dataDir)
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new StartError(`DATA_DIR ${dataDir} can't be used: ${(error as Error).message}`)
  }
  const release = await lockShared(path.join(dataDir, IN_USE_LOCK)).catch((error) => {
    // Some network file systems have no locks. Only the embedded database can't do without.
    if (databaseUrl !== undefined) return () => {}
    throw error
  })
  if (!release) throw new StartError(`DATA_DIR ${dataDir} can't be used: it is being reset.`)
  return release
}
