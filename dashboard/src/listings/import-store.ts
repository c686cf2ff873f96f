import { databaseOf, type ImportFile, type Mark, type Progress } from './import-state.ts'

/**
 * The import under way, kept in the browser's database, so that a reload continues it. One per shop. The database also has
 * the marks of the last files.
 */

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

type Stored = { file: ImportFile; progress: Progress }

export const readImport = (shop: string) => within(shop, 'readonly', storedIn)

async function storedIn(store: IDBObjectStore): Promise<Stored | undefined> {
  const file = await settled<ImportFile | undefined>(store.get('file'))
  if (!file) return undefined
  const progress = await settled<Progress | undefined>(store.get(progressOf(file.id)))
  return progress && { file, progress }
}

/** The name of a file's progress. Another tab may still run a former import, and must not change that of the next one. */
const progressOf = (id: string) => `progress ${id}`

/**
 * Stores an import, and returns whether it did: one that another tab has begun stays. One transaction looks and stores,
 * because two tabs can begin an import at the same moment.
 */
export const storeImport = (
  shop: string,
  { file, progress }: Stored,
  isComplete: (stored: Stored) => boolean,
) =>
  within(shop, 'readwrite', async (store) => {
    const stored = await storedIn(store)
    if (stored && !isComplete(stored)) return false
    await empty(store)
    await Promise.all([
      settled(store.put(file, 'file')),
      settled(store.put(progress, progressOf(file.id))),
    ])
    return true
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

const MAX_MARKS = 20

/** The mark of a file that this browser has imported, also in another tab. */
export const readMark = (shop: string, fingerprint: string) =>
  within(shop, 'readonly', async (store) =>
    (await marksIn(store)).find((mark) => mark.fingerprint === fingerprint),
  )

/** The marks of the last files, and that of the stored import if rows were listed. The newest is the first. */
async function marksIn(store: IDBObjectStore): Promise<Mark[]> {
  const stored = await storedIn(store)
  const marks = (await settled<Mark[] | undefined>(store.get('marks'))) ?? []
  const fingerprint = stored?.file.fingerprint
  if (fingerprint === undefined || stored!.progress.created === 0) return marks
  const { activeAt: at, created } = stored!.progress
  return [{ fingerprint, at, created }, ...marks]
}

/** Removes an import, and keeps the mark of its file if rows were listed. */
async function empty(store: IDBObjectStore): Promise<void> {
  const marks = await marksIn(store)
  await settled(store.clear())
  await settled(store.put(marks.slice(0, MAX_MARKS), 'marks'))
}

export const forgetImport = (shop: string, id: string) =>
  within(shop, 'readwrite', async (store) => {
    const file = await settled<ImportFile | undefined>(store.get('file'))
    if (file?.id === id) await empty(store)
  })
