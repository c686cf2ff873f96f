import type { CsvRow, Item } from '../../../sdk/src/csv.ts'
import { databaseOf } from './import-state.ts'

/**
 * The import under way, kept in the browser's database, so that a reload continues it. One per shop.
 */

/** The rows to list, and the file that they come from. Never changes while the import runs. */
export type ImportFile = {
  id: string
  name: string
  /** When the member has begun it (Unix milliseconds); absent in a file that an earlier version stored. */
  begunAt?: number
  columns: string[]
  rows: CsvRow[]
  /** Absent in a file that an earlier version stored. */
  separator?: string | undefined
  /** The item to list, with the position of its row. */
  items: { position: number; item: Item }[]
  /** Rows that the preview refused. */
  refused: Failure[]
}

export type Failure = { position: number; reason: string }

export type Progress = {
  /** The next chunk to send. */
  next: number
  created: number
  failed: Failure[]
  /** When the next chunk was sent first (Unix milliseconds); null if it was not sent yet. */
  sentAt: number | null
  /** When the service answered last, or the member began or continued the import (Unix milliseconds). */
  activeAt: number
  /** No tab goes on until the member continues the import. */
  isPaused?: boolean
}

const STORE = 'import'

function open(shop: string): Promise<IDBDatabase> {
  const request = indexedDB.open(databaseOf(shop), 1)
  request.onupgradeneeded = () => request.result.createObjectStore(STORE)
  return settled(request)
}

const settled = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })

/** Runs one transaction, and resolves when it is durable. */
async function within<T>(
  shop: string,
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => Promise<T>,
): Promise<T> {
  const database = await open(shop)
  try {
    const transaction = database.transaction(STORE, mode)
    const done = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve()
      transaction.onabort = () => reject(transaction.error)
    })
    const result = await work(transaction.objectStore(STORE))
    await done
    return result
  } finally {
    database.close()
  }
}

export const readImport = (shop: string) =>
  within(shop, 'readonly', async (store) => {
    const file = await settled<ImportFile | undefined>(store.get('file'))
    if (!file) return undefined
    const progress = await settled<Progress | undefined>(store.get(progressOf(file.id)))
    return progress && { file, progress }
  })

/** The name of a file's progress. Another tab may still run a former import, and must not change that of the next one. */
const progressOf = (id: string) => `progress ${id}`

export const storeImport = (shop: string, file: ImportFile, progress: Progress) =>
  within(shop, 'readwrite', async (store) => {
    await Promise.all([
      settled(store.clear()),
      settled(store.put(file, 'file')),
      settled(store.put(progress, progressOf(file.id))),
    ])
  })

/** Changes the progress of a file, and returns it; undefined if another tab has discarded the import. */
export const changeProgress = (
  shop: string,
  id: string,
  change: (progress: Progress) => Progress,
) =>
  within(shop, 'readwrite', async (store) => {
    const before = await settled<Progress | undefined>(store.get(progressOf(id)))
    const progress = before && change(before)
    if (progress !== before) await settled(store.put(progress, progressOf(id)))
    return progress
  })

export const forgetImport = (shop: string, id: string) =>
  within(shop, 'readwrite', async (store) => {
    const file = await settled<ImportFile | undefined>(store.get('file'))
    if (file?.id === id) await settled(store.clear())
  })
