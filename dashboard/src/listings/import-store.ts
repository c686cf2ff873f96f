import type { CsvRow, Item } from '../../../sdk/src/csv.ts'

/**
 * The import under way, kept in the browser's database, so that a reload continues it. One per account.
 */

/** The rows to list, and the file that they come from. Never changes while the import runs. */
export type ImportFile = {
  id: string
  name: string
  columns: string[]
  rows: CsvRow[]
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
  /** No tab goes on until the member continues the import. */
  isPaused?: boolean
}

const STORE = 'import'

function open(accountId: number): Promise<IDBDatabase> {
  const request = indexedDB.open(`cardstall-import-${accountId}`, 1)
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
  accountId: number,
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => Promise<T>,
): Promise<T> {
  const database = await open(accountId)
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

export const readImport = (accountId: number) =>
  within(accountId, 'readwrite', async (store) => {
    const file = await settled<ImportFile | undefined>(store.get('file'))
    if (!file) return undefined
    const name = progressOf(file.id)
    const [progress, former] = await Promise.all([
      settled<Progress | undefined>(store.get(name)),
      // An earlier version of this page stored it under this name.
      settled<Progress | undefined>(store.get('progress')),
    ])
    const found = progress ?? former
    if (!progress && former) await settled(store.put(former, name))
    return found && { file: withNumbers(file), progress: found }
  })

/** The name of a file's progress. Another tab may still run a former import, and must not change that of the next one. */
const progressOf = (id: string) => `progress ${id}`

/** A file that an earlier version of this page stored has rows without numbers. */
const withNumbers = (file: ImportFile): ImportFile => ({
  ...file,
  rows: file.rows.map((row, i) =>
    Array.isArray(row) ? { number: i + 2, values: row as string[] } : row,
  ),
})

export const storeImport = (accountId: number, file: ImportFile, progress: Progress) =>
  within(accountId, 'readwrite', async (store) => {
    await Promise.all([
      settled(store.clear()),
      settled(store.put(file, 'file')),
      settled(store.put(progress, progressOf(file.id))),
    ])
  })

/** Changes the progress of a file, and returns it; undefined if another tab has discarded the import. */
export const changeProgress = (
  accountId: number,
  id: string,
  change: (progress: Progress) => Progress,
) =>
  within(accountId, 'readwrite', async (store) => {
    const before = await settled<Progress | undefined>(store.get(progressOf(id)))
    const progress = before && change(before)
    if (progress !== before) await settled(store.put(progress, progressOf(id)))
    return progress
  })

export const forgetImport = (accountId: number, id: string) =>
  within(accountId, 'readwrite', async (store) => {
    const file = await settled<ImportFile | undefined>(store.get('file'))
    if (file?.id === id) await settled(store.clear())
  })
