import type { Signals } from '../database/signals.ts'
import {
  drainQueue,
  startWorker,
  type Work,
  type Worker,
  type WorkerOptions,
} from '../queue/worker.ts'
import { type ClaimedPhoto, claimPhoto } from './photos.ts'
import { type PhotoContext, takePhoto } from './take-photo.ts'

/** Bounds the memory for downloaded files, up to 10 MB each. */
const CONCURRENCY = 6
/** One seller's unresponsive URLs must not delay the photos of other sellers. */
const CONCURRENCY_PER_SELLER = 2

/** Fetches photos as they become due. */
export const startPhotoWorker = (
  ctx: PhotoContext & { signals: Signals },
  options?: WorkerOptions,
): Worker => startWorker(ctx, photoWork(ctx), options)

/** Fetches every photo that is due now or becomes due meanwhile, then returns. */
export const runDuePhotos = (ctx: PhotoContext): Promise<void> => drainQueue(ctx, photoWork(ctx))

function photoWork(ctx: PhotoContext): Work<ClaimedPhoto> {
  const runningByAccount = new Map<number, number>()
  const isBusy = (accountId: number) =>
    (runningByAccount.get(accountId) ?? 0) >= CONCURRENCY_PER_SELLER

  return {
    queue: 'photos',
    concurrency: CONCURRENCY,

    /** Claims one photo per call, so that the next call knows whether its seller has reached the limit. */
    async claim() {
      const photo = await claimPhoto(ctx, [...runningByAccount.keys()].filter(isBusy))
      if (!photo) return []
      runningByAccount.set(photo.accountId, (runningByAccount.get(photo.accountId) ?? 0) + 1)
      return [photo]
    },

    async run(photo, stopping) {
      try {
        await takePhoto(ctx, photo, stopping)
      } finally {
        const running = runningByAccount.get(photo.accountId)! - 1
        if (running > 0) runningByAccount.set(photo.accountId, running)
        else runningByAccount.delete(photo.accountId)
      }
    },
  }
}
