import type { Signals } from '../database/signals.ts'
import {
  doDueWork,
  startWorker,
  type Work,
  type Worker,
  type WorkerOptions,
} from '../queue/worker.ts'
import { type ClaimedPhoto, claimPhoto } from './photos.ts'
import { type PhotoContext, takePhoto } from './take-photo.ts'

/** Photos that one process is at, at a time: what bounds the memory for pictures on their way (10 MB each). */
const HANDS = 6
/** No more of them for one seller, so that addresses that never answer hold up their own seller alone. */
const HANDS_PER_SELLER = 2

/**
 * Fetches photos as they become due, until it's told to stop. It shares the work with the workers of other processes,
 * and takes up what a killed one left when its lease has run out.
 */
export const startPhotoWorker = (
  ctx: PhotoContext & { signals: Signals },
  options?: WorkerOptions,
): Worker => startWorker(ctx, photoWork(ctx), options)

/** Does all that is due now, and what becomes due meanwhile. */
export const runDuePhotos = (ctx: PhotoContext): Promise<void> => doDueWork(ctx, photoWork(ctx))

function photoWork(ctx: PhotoContext): Work<ClaimedPhoto> {
  /** By account, how many hands are at its photos. */
  const busyFor = new Map<number, number>()

  return {
    queue: 'photos',
    hands: HANDS,

    /** Takes a photo and counts the hand in; the next one is only taken then. */
    async claim() {
      const served = [...busyFor].filter(([, hands]) => hands >= HANDS_PER_SELLER)
      const photo = await claimPhoto(
        ctx,
        served.map(([accountId]) => accountId),
      )
      if (!photo) return []
      busyFor.set(photo.accountId, (busyFor.get(photo.accountId) ?? 0) + 1)
      return [photo]
    },

    async carryOut(photo, stopping) {
      try {
        await takePhoto(ctx, photo, stopping)
      } finally {
        const hands = busyFor.get(photo.accountId)! - 1
        if (hands > 0) busyFor.set(photo.accountId, hands)
        else busyFor.delete(photo.accountId)
      }
    },
  }
}
