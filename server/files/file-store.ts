import type { Readable } from 'node:stream'

/** Where photos and labels are kept: a directory or a bucket (STORAGE_URL). */
export type FileStore = {
  /** Keeps the bytes under this name; once it resolves they outlive a crash. Rejects when the storage fails. */
  put(name: string, bytes: Uint8Array, contentType: string): Promise<void>
  /** The file and its length in bytes, or undefined when there is none. The stream must be read or destroyed. */
  get(name: string): Promise<{ stream: Readable; length: number } | undefined>
  /** Forgets the file; that there is none is fine. */
  delete(name: string): Promise<void>
}

/**
 * Opens the storage that STORAGE_URL names.
 *
 * @throws StartError when it can't be used
 */
export async function openFileStore(storageUrl: string): Promise<FileStore> {
  // Each is loaded only where it's used: the AWS client alone costs a fifth of a second and 30 MB.
  if (/^s3:/i.test(storageUrl)) return (await import('./bucket.ts')).openBucket(storageUrl)
  return (await import('./directory.ts')).openDirectory(storageUrl)
}
