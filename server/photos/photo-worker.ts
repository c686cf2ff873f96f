import type { Context } from '../context.ts'
import { gate } from '../gate.ts'
import { type ClaimedPhoto, claimPhoto } from './photos.ts'
import { takePhoto } from './take-photo.ts'

/** Photos that one process is at, at a time: what bounds the memory for pictures on their way (10 MB each). */
const HANDS = 6
/** No more of them for one seller, so that addresses that never answer hold up their own seller alone. */
const HANDS_PER_SELLER = 2
const LOOK_EVERY_MS = 1_000
/** What can't be given back at a shutdown, as a picture that's being written, gets this long to finish. */
const STOP_PATIENCE_MS = 10_000

/**
 * Fetches photos as they become due, until it's told to stop. It shares the work with the workers of other processes,
 * and takes up what a killed one left when its lease has run out.
 */
export function startPhotoWorker(
  ctx: Context,
  { lookEveryMs = LOOK_EVERY_MS } = {},
): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const hands = handsOf(ctx, stopping.signal)
  const deafen = ctx.wakes.on('photos', hands.call)
  const timer = setInterval(hands.call, lookEveryMs).unref()
  hands.call()
  return {
    async stop() {
      deafen()
      clearInterval(timer)
      stopping.abort()
      const { promise: patience, resolve } = Promise.withResolvers<void>()
      const patient = setTimeout(resolve, STOP_PATIENCE_MS)
      await Promise.race([hands.resting(), patience])
      clearTimeout(patient)
    },
  }
}

/** Does all that is due now, and what becomes due meanwhile. */
export async function runDuePhotos(ctx: Context): Promise<void> {
  const hands = handsOf(ctx, new AbortController().signal)
  hands.call()
  await hands.resting()
}

/** A hand takes photo after photo until none is due. One that finds a photo calls the next, so that idle ones cost a
 * single look. */
function handsOf(ctx: Context, stopping: AbortSignal) {
  const busy = new Set<Promise<void>>()
  /** By account, how many hands are at its photos. */
  const busyFor = new Map<number, number>()
  const oneAtATime = gate(1)
  let troubled = false

  const call = () => {
    if (stopping.aborted || busy.size === HANDS) return
    const hand = work().finally(() => busy.delete(hand))
    busy.add(hand)
  }

  /** Takes a photo and counts the hand in; the next one is only taken then. */
  const claim = async () => {
    const served = [...busyFor].filter(([, hands]) => hands >= HANDS_PER_SELLER)
    const photo = await claimPhoto(
      ctx,
      served.map(([accountId]) => accountId),
    )
    if (photo) busyFor.set(photo.accountId, (busyFor.get(photo.accountId) ?? 0) + 1)
    return photo
  }

  const leave = ({ accountId }: ClaimedPhoto) => {
    const hands = busyFor.get(accountId)! - 1
    if (hands > 0) busyFor.set(accountId, hands)
    else busyFor.delete(accountId)
  }

  const work = async () => {
    try {
      while (!stopping.aborted) {
        const photo = await oneAtATime(claim)
        troubled = false
        if (!photo) return
        call()
        try {
          await takePhoto(ctx, photo, stopping)
        } finally {
          leave(photo)
        }
      }
    } catch (error) {
      // The database is away, most likely: said once, not every second.
      if (!troubled) ctx.log.error({ err: error }, 'photos wait: something is wrong')
      troubled = true
    }
  }

  return {
    call,
    async resting() {
      while (busy.size > 0) await Promise.all(busy)
    },
  }
}
