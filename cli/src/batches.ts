import { hash, randomUUID } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import type { Options } from '@cardstall/sdk'
import { inBatches } from '../../sdk/src/csv.ts'
import { mayRetry, sleep } from '../../sdk/src/transport.ts'
import { replaceFile } from './files.ts'
import { STDIO } from './input.ts'
import { adviseAfterInterruption } from './interruption.ts'
import { CommandError } from './session.ts'

/** A row of the file, from 0, and why it failed. */
export type Failure = [row: number, messages: string[]]

/** Progress of a run, stored next to its file: an interrupted run continues, and repeats no write. */
export type Journal = {
  /** The file, the shop and the settings that it belongs to. */
  of: string
  /** Makes the Idempotency-Keys of the batches. */
  key: string
  /** The rows to send. A continued run keeps them: other rows would belong to other keys. */
  rows: number[]
  /** The columns to send of each of these rows; absent if it is all of them. */
  columns?: string[][]
  /**
   * The cards that the check has found for these rows; null for a product. Absent in a journal of an earlier version,
   * which sends the identifiers of the file.
   */
  cards?: (string | null)[]
  /** Rows of `rows` that are finished, as whole batches. */
  done: number
  failed: Failure[]
  /** Unix milliseconds at which the next batch was first sent; absent as long as it can't have taken effect. */
  sentAt?: number
}

/** The service forgets the keys of requests after 24 hours: a batch sent again after that could take effect twice. */
const MAX_REPEAT_MS = 23 * 60 * 60 * 1000
const MAX_RETRIES = 2
const MAX_WAIT_S = 60

/** The version of the rules that read a file. A journal of another one is not continued: its keys have other rows. */
const RULES = 'rules 3'

export const fingerprint = (...parts: (string | Uint8Array)[]) =>
  hash('sha256', Buffer.concat([RULES, ...parts].map((part) => Buffer.from(hash('sha256', part)))))

/** The file of a journal. That of stdin, which has no place of its own, is in the current directory. */
export const journalFile = (file: string, command: 'import' | 'reprice') =>
  `${file === STDIO ? 'stdin' : file}.${command}`

/**
 * The journal of an interrupted run of the same file.
 *
 * @param name of the run in a sentence
 * @throws CommandError for one with rows that were sent from another file, for another shop, or with other settings, and
 *   for a file that is not a journal
 */
export async function readJournal(
  file: string,
  of: string,
  name: string,
): Promise<Journal | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  if (text === undefined) return undefined
  let journal: Journal | null
  try {
    journal = JSON.parse(text)
  } catch {
    journal = null
  }
  if (!journal?.rows) {
    throw new CommandError(
      `${file} is not readable as the progress of an earlier run. If you have run this command before, its rows may be listed or changed already: look, then delete the file to begin again.`,
    )
  }
  if (journal.of === of) return journal
  if (!journal.done && !journal.sentAt) {
    // Nothing was sent.
    await rm(file, { force: true })
    return undefined
  }
  throw new CommandError(
    `${name} was interrupted after ${journal.done} of ${journal.rows.length} rows, and the file, its columns, the shop or the version of cardstall have changed since: delete ${file} to begin again, which repeats these rows.`,
  )
}

/**
 * Creates the journal of a new run.
 *
 * @param name of the run in a sentence
 * @throws CommandError if another run of the file has begun since `readJournal`: its rows have other keys
 */
export async function createJournal(
  file: string,
  name: string,
  start: Pick<Journal, 'of' | 'rows' | 'columns' | 'cards' | 'failed'>,
): Promise<Journal> {
  const journal = { ...start, key: randomUUID(), done: 0 }
  await writeFile(file, JSON.stringify(journal), { flag: 'wx', mode: 0o600, flush: true }).catch(
    (error) => {
      if (error.code !== 'EEXIST') throw error
      throw new CommandError(
        `${name} has begun meanwhile: wait until it ends. If it was interrupted, run the same command again to continue it.`,
      )
    },
  )
  return journal
}

/**
 * Sends the rows that the journal lacks in batches, and returns all rows that failed. A batch whose response was lost too
 * long ago is not sent again: its rows fail with the reason `unknown`.
 */
export async function sendBatches(
  file: string,
  journal: Journal,
  {
    size,
    itemOf,
    send,
    unknown,
    progress,
    keep,
  }: {
    size: number
    /** The item that `send` sends for a row, to measure it. */
    itemOf: (row: number) => unknown
    send: (rows: number[], options: Options) => Promise<Failure[]>
    unknown: string
    progress: (rows: number) => void
    /** Keeps the result. If it fails, the next run continues here. */
    keep?: (failed: Failure[]) => Promise<void>
  },
): Promise<Failure[]> {
  adviseAfterInterruption('Interrupted. Run the same command again to continue.')
  for (const rows of inBatches(journal.rows.slice(journal.done), size, itemOf)) {
    const attempt = async (): Promise<Failure[]> => {
      const { sentAt } = journal
      journal.sentAt ??= Date.now()
      // Before each attempt: the computer may have slept since the last one.
      if (Date.now() - journal.sentAt > MAX_REPEAT_MS) return rows.map((row) => [row, [unknown]])
      // Before it is sent: its key and its time must survive an interruption.
      await replaceFile(file, JSON.stringify(journal))
      const idempotencyKey = `${journal.key}-${journal.done}`
      // Without the client's own retries: the journal must have the outcome of each attempt.
      return send(rows, { idempotencyKey, maxRetries: 0 }).catch(async (error) => {
        if (isWithoutEffect(error)) {
          // An earlier attempt may have had one.
          journal.sentAt = sentAt
          await replaceFile(file, JSON.stringify(journal))
        }
        throw error
      })
    }
    const failed = await atThePaceOfTheLimit(attempt, MAX_RETRIES)
    journal.failed.push(...failed)
    journal.done += rows.length
    delete journal.sentAt
    progress(journal.done)
  }
  journal.failed.sort(([a], [b]) => a - b)
  if (keep) {
    await replaceFile(file, JSON.stringify(journal))
    await keep(journal.failed)
  }
  await rm(file, { force: true })
  adviseAfterInterruption('')
  return journal.failed
}

/** The service has refused the request, or none of it was sent. */
function isWithoutEffect(error: { status?: number }): boolean {
  const { status = 0 } = error
  return mayRetry(error, 'unsent') || (status >= 400 && status < 500)
}

/**
 * Sends a batch again until the write limit leaves room: its window is a minute.
 *
 * @param retries after failures that another attempt may overcome
 */
export async function atThePaceOfTheLimit<T>(send: () => Promise<T>, retries = 0): Promise<T> {
  for (let left = retries; ; ) {
    try {
      return await send()
    } catch (error) {
      const { status, retryAfter = 1 } = error as { status?: number; retryAfter?: number }
      if (status !== 429 && (!mayRetry(error, 'safe') || left-- === 0)) throw error
      await sleep(Math.min(retryAfter, MAX_WAIT_S) * 1000)
    }
  }
}
