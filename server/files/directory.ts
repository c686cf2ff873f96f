import { access, constants, open, readdir, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { randomText } from '../crypto/random-text.ts'
import { StartError } from '../start-error.ts'
import { realTime } from '../time/real-time.ts'
import type { FileStore } from './file-store.ts'
import { makeDirectory } from './make-directory.ts'

/** Files that are being written. They get their name when they are complete. */
const UNFINISHED = '.unfinished'
/** The directories in which a store keeps files: what else is there was put there by others. */
export const STORED_DIRECTORIES = ['photos', 'labels', UNFINISHED]
/** No write takes that long: an older file was left behind by a process that was killed. */
const ABANDONED_AFTER_MS = 60 * 60 * 1000

/**
 * Files in a directory, made when it's missing and then open to its owner alone.
 *
 * @throws StartError when the directory can't be used
 */
export async function openDirectory(storageUrl: string): Promise<FileStore> {
  const root = pathOf(storageUrl)
  try {
    await makeDirectory(root, 0o700)
    await access(root, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new StartError(`STORAGE_URL: ${root} can't be used: ${(error as Error).message}`)
  }

  await removeAbandoned(path.join(root, UNFINISHED))

  // Loaded with the first file: it would cost every start 45 ms.
  const driver = async () => {
    const { FSDriver } = await import('flydrive/drivers/fs')
    return new FSDriver({ location: root, visibility: 'private' })
  }

  return {
    async put(name, bytes) {
      const file = path.join(root, name)
      const unfinished = path.join(UNFINISHED, randomText(20))
      try {
        await (await driver()).put(unfinished, bytes)
        // The database is about to say that it's there, and survives a power cut: so must the file and its entry.
        await sync(path.join(root, unfinished))
        await makeDirectory(path.dirname(file), 0o700)
        await rename(path.join(root, unfinished), file)
      } catch (error) {
        // On a full disk half a file would only be in the way.
        await rm(path.join(root, unfinished), { force: true }).catch(() => {})
        throw error
      }
      await sync(path.dirname(file))
    },

    async get(name) {
      const files = await driver()
      try {
        const { contentLength: length } = await files.getMetaData(name)
        const stream = await files.getStream(name)
        // Should it vanish right now: whoever reads gets the error, and nobody else may fall over it.
        stream.on('error', () => {})
        return { stream, length }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw error
      }
    },

    async delete(name) {
      await (await driver()).delete(name)
    },
  }
}

function pathOf(storageUrl: string): string {
  try {
    const url = new URL(storageUrl)
    // Without a slash it means a place in the root, which is hardly what somebody meant.
    const isAbsolute = /^file:\//i.test(storageUrl)
    if (!isAbsolute || url.search || url.hash) throw new Error('not a plain path')
    return fileURLToPath(url)
  } catch {
    throw new StartError(
      'STORAGE_URL must be an absolute path without query or fragment, as file:/srv/cardstall/files.',
    )
  }
}

/** Best effort: a file that stays does no harm. */
async function removeAbandoned(directory: string): Promise<void> {
  for (const name of await readdir(directory).catch(() => [])) {
    const file = path.join(directory, name)
    try {
      const { mtimeMs } = await stat(file)
      if (realTime() - mtimeMs > ABANDONED_AFTER_MS) await rm(file, { force: true })
    } catch {
      // Another process has just finished or removed it.
    }
  }
}

async function sync(file: string): Promise<void> {
  const handle = await open(file, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
