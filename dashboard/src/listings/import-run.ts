import { inBatches } from '../../../sdk/src/csv.ts'
import type { MAX_ITEMS } from '../../../server/http/shapes/bulk-create.ts'
import { ApiError } from '../client.ts'
import { readAgain } from '../query-client.ts'
import { session } from '../session.ts'
import { notify } from '../ui/toast.tsx'
import {
  createListings,
  leaveReservedWrites,
  pause,
  UnknownOutcomeError,
  untilWritten,
} from './api.ts'
import {
  currentRun,
  databaseOf,
  type Failure,
  type ImportFile,
  type Progress,
  type Run,
  rowsLeft,
  show,
} from './import-state.ts'
import { changeProgress, forgetImport, readImport, storeImport } from './import-store.ts'

/**
 * Runs the import: it sends one chunk after the other, at the pace of the write limit. Each chunk has its own key and is
 * the same after a reload, so the service lists it once, however often it is sent. The import goes on while other pages
 * are open. One tab sends, and the others show its progress. Every tab reads in the stored progress that the import was
 * paused or discarded. After a long interruption the member decides whether the import goes on.
 */

const CHUNK: typeof MAX_ITEMS = 100

/** Time between two looks at the progress of another tab. */
const LOOK_MS = 1_000

/** The member continues an import that was interrupted for longer: prices and stock of the file may be out of date. */
const MAX_INTERRUPTION_MS = 15 * 60_000

const INTERRUPTED = 'It was interrupted for more than 15 minutes.'

const isInterrupted = ({ activeAt }: Pick<Progress, 'activeAt'>, waitingS = 0) =>
  !(Date.now() - activeAt < MAX_INTERRUPTION_MS + 1000 * waitingS)

let stopper: AbortController | undefined

/** Changes what is shown of an import, unless it was discarded meanwhile. */
function update(id: string, changes: Partial<Run>): void {
  const run = currentRun()
  if (run?.file.id === id) show({ ...run, ...changes })
}

/** Continues an import that a reload has interrupted, and shows that of another tab. */
export async function resume(shop: string): Promise<void> {
  if (currentRun()) return
  const stored = await readImport(shop).catch(() => undefined)
  if (!stored || currentRun()) return
  const { file, progress } = stored
  show({ file, chunks: chunksOf(file), progress, state: 'stopped', waitingS: 0 })
  await goOn(shop, progress)
}

/** Sends the rest, if there is one, unless the member has to continue the import. */
async function goOn(shop: string, progress: Progress): Promise<void> {
  const { file, chunks } = currentRun()!
  const isComplete = progress.next === chunks.length
  if (!isComplete && progress.isPaused) return
  if (isComplete || !isInterrupted(progress)) return send(shop)
  update(file.id, { error: INTERRUPTED })
}

/** Begins an import. Shows that of another tab instead, and returns false, if it has begun one meanwhile. */
export async function begin(shop: string, file: ImportFile): Promise<boolean> {
  const progress: Progress = {
    next: 0,
    created: 0,
    failed: [],
    sentAt: null,
    activeAt: Date.now(),
  }
  const isStored = await storeImport(
    shop,
    { file, progress },
    (other) => other.progress.next === chunksOf(other.file).length,
  )
  if (!isStored) {
    notify('Another import is not complete yet. Import this file after it.', { isFailure: true })
    void resume(shop)
    return false
  }
  show({ file, chunks: chunksOf(file), progress, state: 'stopped', waitingS: 0 })
  void send(shop)
  return true
}

const chunksOf = ({ items }: ImportFile) => inBatches(items, CHUNK, ({ item }) => item)

const UNKNOWN = 'Unknown: it may be listed already. Check it before you import it again.'

/** The rows of a stopped import whose outcome the service has not reported, with the reasons. */
export const unsentOf = ({ chunks, progress: { next, sentAt } }: Run): Failure[] =>
  chunks.slice(next).flatMap((chunk, i) => {
    const reason = i === 0 && sentAt !== null ? UNKNOWN : 'Not sent.'
    return chunk.map(({ position }) => ({ position, reason }))
  })

/** Continues an import that has stopped. */
export async function start(shop: string): Promise<void> {
  const run = currentRun()
  if (run?.state !== 'stopped') return
  await change(shop, run.file.id, (stored) => ({
    ...stored,
    isPaused: false,
    activeAt: Date.now(),
  }))
  await send(shop)
}

/** Pauses the import, also in the tab that sends it, and shows how far that one has come. */
export async function stop(shop: string): Promise<void> {
  const run = currentRun()
  if (!run) return
  try {
    await change(shop, run.file.id, (stored) => ({ ...stored, isPaused: true }))
  } finally {
    stopper?.abort()
  }
}

/** Forgets the import, which ends it in all tabs. Rows that were listed stay. */
export async function discard(shop: string): Promise<void> {
  stopper?.abort()
  const run = currentRun()
  if (run) await forgetImport(shop, run.file.id)
  show(undefined)
}

/** Changes the stored progress and shows it. An import that was discarded is no longer shown. */
async function change(
  shop: string,
  id: string,
  work: (stored: Progress) => Progress,
): Promise<Progress | undefined> {
  const progress = await changeProgress(shop, id, work)
  if (progress) update(id, { progress })
  else if (currentRun()?.file.id === id) show(undefined)
  return progress
}

async function send(shop: string): Promise<void> {
  const run = currentRun()
  if (run?.state !== 'stopped') return
  const {
    file: { id },
    chunks,
  } = run
  const stopping = new AbortController()
  const { signal } = stopping
  stopper = stopping
  /** Rejects if a tab has paused or discarded the import. */
  const keep = async (work: (stored: Progress) => Progress) => {
    const progress = await change(shop, id, work)
    if (!progress || progress.isPaused) stopping.abort()
    signal.throwIfAborted()
    return progress!
  }
  const look = () => keep((stored) => stored)
  const sendRest = async () => {
    let progress = await look()
    while (progress.next < chunks.length) {
      const sent = sendNext(id, chunks[progress.next]!, progress, keep, signal)
      progress = await sent.catch((error) => {
        if (error === OVERTAKEN) return look()
        throw error
      })
    }
  }
  update(id, { state: 'running', error: undefined })
  try {
    while (!(await unlessElsewhere(shop, sendRest))) {
      await pause(LOOK_MS, signal)
      await look()
    }
    update(id, { state: 'done', waitingS: 0 })
  } catch (error) {
    const message = signal.aborted ? undefined : (error as Error).message
    // A pause can come too late.
    const shown = currentRun()
    const isComplete = shown?.file.id === id && rowsLeft(shown) === 0
    update(id, { state: isComplete ? 'done' : 'stopped', waitingS: 0, error: message })
    if (session.state() !== 'valid') void session.back().then(() => rejoin(shop, id))
  }
  await readAgain(['listings'])
}

/** Goes on after a sign-in in another tab, which may have continued the import itself. */
async function rejoin(shop: string, id: string): Promise<void> {
  const progress = await change(shop, id, (stored) => stored)
  if (progress && currentRun()?.state === 'stopped') await goOn(shop, progress)
}

/** Follows an import that has stopped here if another tab has continued it, and forgets one that was discarded there. */
export async function follow(shop: string): Promise<void> {
  const shown = currentRun()
  if (shown?.state !== 'stopped') return
  const progress = await change(shop, shown.file.id, (stored) => stored)
  const isContinued = progress && progress.activeAt !== shown.progress.activeAt
  if (isContinued && currentRun()?.state === 'stopped') await goOn(shop, progress)
}

/**
 * Does the work unless another tab does it, and returns whether it did. Browsers have locks only with HTTPS. Safari takes
 * the lock from a page that it keeps in memory for Back: when the page returns, the work goes on without it.
 */
async function unlessElsewhere(shop: string, work: () => Promise<void>): Promise<boolean> {
  if (!('locks' in navigator)) {
    await work()
    return true
  }
  let working: Promise<void> | undefined
  await navigator.locks
    .request(databaseOf(shop), { ifAvailable: true }, (lock) => {
      if (lock) working = work()
      return working
    })
    .catch((error) => {
      if (error.name !== 'AbortError') throw error
    })
  await working
  return working !== undefined
}

/** Another tab has sent the chunk. Without locks, each tab sends. */
const OVERTAKEN = new Error('The import goes on in another tab.')

async function sendNext(
  id: string,
  chunk: ImportFile['items'],
  { next, sentAt, activeAt }: Progress,
  keep: (work: (stored: Progress) => Progress) => Promise<Progress>,
  signal: AbortSignal,
): Promise<Progress> {
  let attemptedAt = activeAt
  const waiting = (waitingS: number) => update(id, { waitingS })
  await leaveReservedWrites(signal, waiting)
  const answer = await untilWritten(
    () =>
      createListings(
        chunk.map(({ item }) => item),
        `import-${id}-${next}`,
        { isRepeated: true },
      ).catch((error) => {
        if (error instanceof ApiError) activeAt = Date.now()
        throw error
      }),
    sentAt,
    async (sentAt) => {
      if (isInterrupted({ activeAt }, currentRun()?.waitingS)) throw new Error(INTERRUPTED)
      attemptedAt = Date.now()
      // Before it is sent: a reload must find that it may have been listed. A chunk of a paused import is not sent.
      const { next: stored } = await keep((stored) =>
        stored.next === next && !(stored.isPaused && sentAt !== null)
          ? { ...stored, sentAt, activeAt }
          : stored,
      )
      if (stored !== next) throw OVERTAKEN
    },
    signal,
    waiting,
  ).catch((error) => {
    if (error instanceof UnknownOutcomeError) return undefined
    throw error
  })
  if (answer) update(id, { warnings: answer.warnings ?? [] })
  const failed = answer
    ? answer.results.flatMap((result) =>
        result.status === 'failed'
          ? {
              position: chunk[result.index]!.position,
              reason: Object.values(result.errors).flat().join(' '),
            }
          : [],
      )
    : chunk.map(({ position }) => ({ position, reason: UNKNOWN }))
  return keep((stored) =>
    stored.next === next
      ? {
          ...stored,
          next: next + 1,
          created: stored.created + (answer?.created ?? 0),
          failed: [...stored.failed, ...failed],
          sentAt: null,
          // The computer may have slept during the attempt.
          activeAt: isInterrupted({ activeAt: attemptedAt }) ? attemptedAt : Date.now(),
        }
      : stored,
  )
}
