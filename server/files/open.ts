import type { FileStore } from './file-store.ts'

/**
 * Opens the storage that STORAGE_URL names.
 *
 * @throws StartError if it cannot be used
 */
export async function openFileStore(storageUrl: string): Promise<FileStore> {
  // Loaded only when used, with its HTTP client.
  if (/^s3:/i.test(storageUrl)) return (await import('./bucket.ts')).openBucket(storageUrl)
  return (await import('./directory.ts')).openDirectory(storageUrl)
}
