import type { Log } from '../log.ts'
import type { FileStore } from './file-store.ts'

/**
 * Opens the storage that STORAGE_URL names.
 *
 * @throws StartError if it cannot be used
 */
export async function openFileStore(
  storageUrl: string,
  log?: Pick<Log, 'warn'>,
): Promise<FileStore> {
  // Loaded only when used, with its HTTP client.
  if (/^s3:/i.test(storageUrl)) {
    const { openBucket } = await import('./bucket.ts')
    return openBucket(storageUrl, { log })
  }
  return (await import('./directory.ts')).openDirectory(storageUrl)
}
