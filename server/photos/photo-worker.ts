import type { Signals } from '../database/signals.ts'
import { openTurns } from '../queue/turns.ts'
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
/** Unresponsive URLs of some sellers must not delay the photos of others. */
const LIMITS = { perSeller: 2, slow: 3 }

/** Fetches photos as they become due. */
export const startPhotoWorker = (
  ctx: PhotoContext & { signals: Signals },
  options?: WorkerOptions,
): Worker => startWorker(ctx, photoWork(ctx), options)

/** Fetches every photo that is due now or becomes due meanwhile, then returns. */
export const runDuePhotos = (ctx: PhotoContext): Promise<void> => drainQueue(ctx, photoWork(ctx))

function photoWork(ctx: PhotoContext): Work<ClaimedPhoto> {
  const turns = openTurns<ClaimedPhoto>(LIMITS, async (turn) => {
    const photo = await claimPhoto(ctx, turn)
    return photo ? [photo] : []
  })
  return {
    queue: 'photos',
    concurrency: CONCURRENCY,
    claim: turns.claim,
    async run(photo, stopping) {
      let isFailing = false
      try {
        isFailing = (await takePhoto(ctx, photo, stopping)) === 'unanswered'
      } finally {
        turns.end(photo, isFailing)
      }
    },
  }
}
