import type { Signals } from '../database/signals.ts'
import { openTurns, SLOW_MS } from '../queue/turns.ts'
import {
  drainQueue,
  startWorker,
  type Work,
  type Worker,
  type WorkerOptions,
} from '../queue/worker.ts'
import { type ClaimedPhoto, claimPhoto, claimPhotoOf, failInterruptedPhotos } from './photos.ts'
import { type PhotoContext, takePhoto } from './take-photo.ts'

/** Bounds the memory for downloaded files, up to 10 MB each. */
const CONCURRENCY = 6
/** Unresponsive URLs of some sellers must not delay the photos of others. */
const LIMITS = { perSeller: 2, slow: 3 }

/** Fetches photos as they become due. */
export const startPhotoWorker = (
  ctx: PhotoContext & { signals: Signals },
  options?: WorkerOptions & { slowMs?: number },
): Worker => startWorker(ctx, photoWork(ctx, options?.slowMs), options)

/** Fetches every photo that is due now or becomes due meanwhile, then returns. */
export const runDuePhotos = (ctx: PhotoContext): Promise<void> => drainQueue(ctx, photoWork(ctx))

/** @param slowMs a failed attempt that took this long is slow */
function photoWork(ctx: PhotoContext, slowMs = SLOW_MS): Work<ClaimedPhoto> {
  const turns = openTurns<ClaimedPhoto>(LIMITS, {
    async fast(turn) {
      const photo = await claimPhoto(ctx, turn)
      return photo ? [photo] : []
    },
    slow: ({ sellers }) => claimPhotoOf(ctx, sellers),
  })
  return {
    queue: 'photos',
    concurrency: CONCURRENCY,
    async claim(max) {
      const photos = await turns.claim(max)
      // Not before each claim, and not while photos that are due wait for one in progress.
      if (photos.length === 0 && max === CONCURRENCY) await failInterruptedPhotos(ctx)
      return photos
    },
    async run(photo, stopping) {
      const startedAt = performance.now()
      let isAvailable = true
      try {
        isAvailable = await takePhoto(ctx, photo, stopping)
      } finally {
        turns.end(photo, !isAvailable && performance.now() - startedAt >= slowMs)
      }
    },
  }
}
