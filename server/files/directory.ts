import { createReadStream } from 'node:fs'
import { access, constants, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { randomText } from '../crypto/random-text.ts'
import { StartError } from '../start-error.ts'
import { realTime } from '../time/real-time.ts'
import { HOURS } from '../time/units.ts'
import { syncToDisk } from './disk.ts'
import type { FileStore } from './file-store.ts'
import { makeDirectory } from './make-directory.ts'

/** Folder of files that are being written. They are renamed when they are complete. */
const UNFINISHED = '.unfinished'
/** The folders that a store creates. Everything else in the directory isn't ours. */
export const STORED_DIRECTORIES = ['photos', 'labels', UNFINISHED]
/** No write takes this long: a killed process left an older file behind. */
const ABANDONED_AFTER_MS = 1 * HOURS

/**
 * Stores files in a directory. A missing one is created with access for its owner only.
 *
 * @throws StartError if the directory cannot be used
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

  return {
    async put(name, bytes) {
      const file = path.join(root, name)
      const unfinished = path.join(root, UNFINISHED, randomText(20))
      try {
        await makeDirectory(path.dirname(unfinished), 0o700)
        // Flushed, as is the directory entry below: the database is about to record that the file exists.
        await writeFile(unfinished, bytes, { flush: true })
        await makeDirectory(path.dirname(file), 0o700)
        await rename(unfinished, file)
      } catch (error) {
        // On a full disk, half a file would waste space.
        await rm(unfinished, { force: true }).catch(() => {})
        throw error
      }
      await syncToDisk(path.dirname(file))
    },

    async get(name) {
      try {
        const file = path.join(root, name)
        const { size: length } = await stat(file)
        const stream = createReadStream(file)
        // The file may vanish before the stream is read: an unhandled error event would end the process.
        stream.on('error', () => {})
        return { stream, length }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw error
      }
    },

    async delete(name) {
      await rm(path.join(root, name), { force: true })
      // A killed process may have left a copy behind, which the restart right after it took for one in progress.
      await removeAbandoned(path.join(root, UNFINISHED))
    },
  }
}

function pathOf(storageUrl: string): string {
  try {
    const url = new URL(storageUrl)
    // Without a slash the URL parser would take a relative path for a path from the root.
    const isAbsolute = /^file:\//i.test(storageUrl)
    if (!isAbsolute || url.search || url.hash) throw new Error('not a plain path')
    return fileURLToPath(url)
  } catch {
    throw new StartError(
      'STORAGE_URL must be an absolute path without query or fragment, as file:/srv/cardstall/files.',
    )
  }
}

/** Best effort: a remaining file only wastes space. */
async function removeAbandoned(directory: string): Promise<void> {
  for (const name of await readdir(directory).catch(() => [])) {
    const file = path.join(directory, name)
    try {
      const { mtimeMs } = await stat(file)
      if (realTime() - mtimeMs > ABANDONED_AFTER_MS) await rm(file, { force: true })
    } catch {
      // Another process has just renamed or removed it.
    }
  }
}
