import type { CsvRow, Item } from '../../../sdk/src/csv.ts'
import { createStore } from '../ui/store.ts'

/** The import of this account, as this tab shows it. Small, because every page of the dashboard loads it. */

/** The rows to list, and the file that they come from. Never changes while the import runs. */
export type ImportFile = {
  id: string
  name: string
  /** Identifies the bytes of the file; absent in a file that an earlier version stored. */
  fingerprint?: string
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

/** The mark of a file whose import has ended: another import of it lists the same rows again. */
export type Mark = {
  fingerprint: string
  /** When the service responded last (Unix milliseconds). */
  at: number
  /** Rows that were listed. */
  created: number
}

export type Progress = {
  /** The next chunk to send. */
  next: number
  created: number
  failed: Failure[]
  /** When the next chunk was sent first (Unix milliseconds); null if it was not sent yet. */
  sentAt: number | null
  /** When the service responded last, or the member began or continued the import (Unix milliseconds). */
  activeAt: number
  /** No tab goes on until the member continues the import. */
  isPaused?: boolean
}

export type Run = {
  file: ImportFile
  /** The items of the file, as they are sent. */
  chunks: ImportFile['items'][]
  progress: Progress
  state: 'running' | 'stopped' | 'done'
  /** Seconds that the service asks to wait. */
  waitingS: number
  /** Why it has stopped. */
  error?: string | undefined
  /** Problems of the account, such as that nobody can order from it. */
  warnings?: string[]
}

/** undefined if there is no import */
export const { get: currentRun, set: show, use: useRun } = createStore<Run | undefined>(undefined)

/** The number of rows whose outcome the service has not reported. */
export const rowsLeft = ({ chunks, progress }: Run) =>
  chunks.slice(progress.next).reduce((rows, chunk) => rows + chunk.length, 0)

/**
 * Identifies the shop of an import. After `npm run reset`, or when a marketplace follows a trial at its address, another
 * account has the same id: its shop must not get the rest of the import.
 */
export const importKey = ({ id, created_at }: { id: number; created_at: string }): string =>
  `${id}-${created_at}`

/** The name of the browser's database that has the import of a shop. */
export const databaseOf = (shop: string) => `cardstall-import-${shop}`
