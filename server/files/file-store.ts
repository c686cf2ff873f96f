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
