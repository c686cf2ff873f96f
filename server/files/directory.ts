import { access, constants, mkdir, open } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { StartError } from '../start-error.ts'
import type { FileStore } from './file-store.ts'

/**
 * Files in a directory, made when it's missing and then open to its owner alone.
 *
 * @throws StartError when the directory can't be used
 */
export async function openDirectory(storageUrl: string): Promise<FileStore> {
  const root = pathOf(storageUrl)
  try {
    await mkdir(root, { recursive: true, mode: 0o700 })
    await access(root, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new StartError(`STORAGE_URL: ${root} can't be used: ${(error as Error).message}`)
  }

  // Loaded with the first file: it would cost every start 45 ms.
  const driver = async () => {
    const { FSDriver } = await import('flydrive/drivers/fs')
    return new FSDriver({ location: root, visibility: 'private' })
  }

  return {
    async put(name, bytes) {
      await (await driver()).put(name, bytes)
      // The database is about to say that it's there, and survives a power cut: so must the file and its entry.
      await sync(path.join(root, name))
      await sync(path.dirname(path.join(root, name)))
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

async function sync(file: string): Promise<void> {
  const handle = await open(file, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
