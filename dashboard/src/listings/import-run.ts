import { useSyncExternalStore } from 'react'
import { inBatches } from '../../../sdk/src/csv.ts'
import { queryClient } from '../query-client.ts'
import { createListings, UnknownOutcomeError, untilWritten } from './api.ts'
import {
  forgetImport,
  type ImportFile,
  type Progress,
  readImport,
  storeImport,
  storeProgress,
} from './import-store.ts'

/**
 * Runs the import: chunk after chunk, at the pace of the write limit. Each chunk has a key of its own and is the same after
 * a reload, so the service lists it once, however often it is sent. The run goes on while other pages are open.
 */

const CHUNK = 100

export type Run = {
  file: ImportFile
  /** The items of the file, as they are sent. */
  chunks: ImportFile['items'][]
  progress: Progress
  state: 'running' | 'stopped' | 'done'
  /** Seconds that the service asks to wait. */
  waitingS: number
  /** Why it has stopped. */
  error?: string
}

let run: Run | undefined
let stopper: AbortController | undefined
const listeners = new Set<() => void>()

function show(next: Run | undefined): void {
  run = next
  for (const listener of listeners) listener()
}

/** The import of this account; undefined if there is none. */
export const useRun = () =>
  useSyncExternalStore(
    (changed) => {
      listeners.add(changed)
      return () => listeners.delete(changed)
    },
    () => run,
  )

/** Continues an import that a reload has interrupted. */
export async function resume(accountId: number): Promise<void> {
  if (run) return
  const stored = await readImport(accountId).catch(() => undefined)
  if (!stored || run) return
  const { file, progress } = stored
  show({ file, chunks: chunksOf(file), progress, state: 'stopped', waitingS: 0 })
  await start(accountId)
}

export async function begin(accountId: number, file: ImportFile): Promise<void> {
  const progress: Progress = { next: 0, created: 0, failed: [], sentAt: null }
  await storeImport(accountId, file, progress)
  show({ file, chunks: chunksOf(file), progress, state: 'stopped', waitingS: 0 })
  void start(accountId)
}

const chunksOf = ({ items }: ImportFile) => inBatches(items, CHUNK, ({ item }) => item)

export async function start(accountId: number): Promise<void> {
  if (run?.state !== 'stopped') return
  stopper = new AbortController()
  const { signal } = stopper
  show({ ...run, state: 'running', error: undefined })
  try {
    while (run.progress.next < run.chunks.length) {
      await sendNext(accountId, run, signal)
      signal.throwIfAborted()
    }
    show({ ...run, state: 'done', waitingS: 0 })
  } catch (error) {
    const message = signal.aborted ? undefined : (error as Error).message
    if (run) show({ ...run, state: 'stopped', waitingS: 0, error: message })
  }
  await queryClient.invalidateQueries({ queryKey: ['listings'] })
}

export const stop = () => stopper?.abort()

/** Forgets the import. Rows that were listed stay. */
export async function discard(accountId: number): Promise<void> {
  stop()
  if (run) await forgetImport(accountId, run.file.id)
  show(undefined)
}

async function sendNext(
  accountId: number,
  { file: { id }, chunks, progress: before }: Run,
  signal: AbortSignal,
): Promise<void> {
  const { next, sentAt } = before
  const chunk = chunks[next]!
  const keep = async (progress: Progress) => {
    await storeProgress(accountId, id, progress)
    if (run) show({ ...run, progress })
  }
  const answer = await untilWritten(
    () =>
      createListings(
        chunk.map(({ item }) => item),
        `import-${id}-${next}`,
      ),
    sentAt,
    // Before it is sent: a reload must find that it may have been listed.
    (sentAt) => keep({ ...before, sentAt }),
    signal,
    (waitingS) => run && run.waitingS !== waitingS && show({ ...run, waitingS }),
  ).catch((error) => {
    if (error instanceof UnknownOutcomeError) return undefined
    throw error
  })
  const failed = answer
    ? answer.results.flatMap((result) =>
        result.status === 'failed'
          ? {
              position: chunk[result.index]!.position,
              reason: Object.values(result.errors).flat().join(' '),
            }
          : [],
      )
    : chunk.map(({ position }) => ({
        position,
        reason: 'Unknown: it may be listed already. Check it before you import it again.',
      }))
  await keep({
    next: next + 1,
    created: before.created + (answer?.created ?? 0),
    failed: [...before.failed, ...failed],
    sentAt: null,
  })
}
