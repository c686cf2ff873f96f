import type { Readable } from 'node:stream'

/** Storage of photos and labels: a directory or a bucket (STORAGE_URL). */
export type FileStore = {
  /**
   * Stores the file, replacing a former one. It survives a crash once this resolves. After an error the file may be stored
   * nevertheless.
   *
   * @param signal ends a request to a bucket; a directory ignores it
   */
  put(name: string, bytes: Uint8Array, contentType: string, signal?: AbortSignal): Promise<void>
  /**
   * The file; undefined if it does not exist. The stream must be read or destroyed.
   *
   * @param signal ends a request to a bucket, also while the stream is read; a directory ignores it
   */
  get(name: string, signal?: AbortSignal): Promise<StoredFile | undefined>
  /** Deletes the file if it exists. */
  delete(name: string): Promise<void>
}

/** A file, and its length in bytes unless the bucket sends it in chunks. */
export type StoredFile = { stream: Readable; length: number | undefined }
