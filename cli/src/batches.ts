import { hash, randomUUID } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'

/** Progress of a run, stored next to its file: an interrupted run continues, and repeats no write. */
export type Journal = {
  /** The file and the settings that it belongs to. */
  of: string
  /** Makes the Idempotency-Keys of the batches. */
  key: string
  /** Results of the batches that are finished. */
  results: unknown[][]
  /** Unix milliseconds at which the next batch was first sent; it may have taken effect. */
  sentAt?: number
}

/** The service forgets the keys of requests after 24 hours: a batch sent again after that could take effect twice. */
const MAX_REPEAT_MS = 23 * 60 * 60 * 1000

export const fingerprint = (...parts: (string | Uint8Array)[]) =>
  hash('sha256', Buffer.concat(parts.map((part) => Buffer.from(hash('sha256', part)))))

/** The journal of an interrupted run of the same file; otherwise a new one. */
export async function openJournal(file: string, of: string): Promise<Journal> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text !== undefined) {
    try {
      const journal = JSON.parse(text) as Journal
      if (journal.of === of) return journal
    } catch {
      // It was not written completely. It is replaced.
    }
  }
  return { of, key: randomUUID(), results: [] }
}

/** Writes the journal as a whole: a crash leaves the former one. */
async function saveJournal(file: string, journal: Journal): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(journal))
  await rename(`${file}.new`, file)
}

export const inBatches = <T>(all: T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, i) =>
    all.slice(i * size, (i + 1) * size),
  )

/**
 * Sends the batches that the journal lacks, and keeps their results. A batch whose response was lost too long ago is not
 * sent again: `unknown` makes its results.
 */
export async function sendBatches<T, R>(
  file: string,
  journal: Journal,
  batches: T[][],
  {
    send,
    unknown,
    waiting,
    progress,
  }: {
    send: (batch: T[], key: string) => Promise<R[]>
    unknown: (batch: T[]) => R[]
    waiting: (seconds: number) => void
    progress: (batches: number) => void
  },
): Promise<R[][]> {
  for (let i = journal.results.length; i < batches.length; i++) {
    const batch = batches[i]!
    const isForgotten = journal.sentAt !== undefined && Date.now() - journal.sentAt > MAX_REPEAT_MS
    journal.sentAt ??= Date.now()
    // Before it is sent: its key and its time must survive an interruption.
    await saveJournal(file, journal)
    const results = isForgotten
      ? unknown(batch)
      : await atThePaceOfTheLimit(() => send(batch, `${journal.key}-${i}`), waiting)
    journal.results.push(results)
    delete journal.sentAt
    await saveJournal(file, journal)
    progress(i + 1)
  }
  await rm(file, { force: true })
  return journal.results as R[][]
}

/** Sends a batch again until the write limit leaves room: its window is a minute. */
export async function atThePaceOfTheLimit<T>(
  send: () => Promise<T>,
  waiting: (seconds: number) => void,
): Promise<T> {
  for (;;) {
    try {
      return await send()
    } catch (error) {
      const { status, retryAfter } = error as { status?: number; retryAfter?: number }
      if (status !== 429) throw error
      waiting(retryAfter ?? 1)
      await new Promise((resolve) => setTimeout(resolve, (retryAfter ?? 1) * 1000))
    }
  }
}
