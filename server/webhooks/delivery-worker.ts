import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../context.ts'
import { together } from '../jobs/together.ts'
import {
  doDueWork,
  startWorker,
  type Work,
  type Worker,
  type WorkerOptions,
} from '../jobs/worker.ts'
import type { CheckedPools } from '../outbound/checked-pools.ts'
import { type Attempted, attemptDelivery } from './attempt-delivery.ts'
import type { ClaimedDelivery, Outcome } from './delivery.ts'
import {
  claimDeliveries,
  failDelivery,
  giveBackDelivery,
  settleDeliveries,
} from './delivery-queue.ts'
import { type Pace, startPace } from './pace.ts'
import { nextTryAt } from './retry-schedule.ts'

/** Attempts that one process is at, at a time. Most of them wait for somebody else. */
const HANDS = 500
const MOST_AT_ONCE = 200
/** At a shutdown: an attempt that is cut off may have arrived, and is made again. */
const GRACE_MS = 5_000
/** What was sent had better be noted: else it's sent again. */
const NOTE_TRIES = 10
const NOTE_AGAIN_MS = 1_000

/**
 * Sends deliveries as they become due, until it's told to stop. It shares the work with the workers of other
 * processes, and takes up what a killed one left when its lease has run out.
 */
export function startDeliveryWorker(
  ctx: Context,
  options: WorkerOptions & { graceMs?: number } = {},
): Worker {
  const pools = openPools(ctx)
  const worker = startWorker(ctx, deliveryWork(ctx, pools, options.graceMs), options)
  return {
    async stop() {
      await worker.stop()
      await (await pools).close()
    },
  }
}

/** Does all that is due now, and what becomes due meanwhile. */
export async function runDueDeliveries(ctx: Context): Promise<void> {
  const pools = openPools(ctx)
  try {
    await doDueWork(ctx, deliveryWork(ctx, pools))
  } finally {
    await (await pools).close()
  }
}

/** Undici is loaded while the service gets ready: it would cost every start a tenth of a second. */
async function openPools({ network, config }: Context): Promise<CheckedPools> {
  const { checkedPools } = await import('../outbound/checked-pools.ts')
  return checkedPools(network, { timeoutMs: config.webhookTimeoutMs })
}

function deliveryWork(
  ctx: Context,
  pools: Promise<CheckedPools>,
  graceMs = GRACE_MS,
): Work<ClaimedDelivery> {
  const pace = startPace()
  const settle = together<Outcome>((outcomes) => settleDeliveries(ctx, outcomes), MOST_AT_ONCE)
  const claim = inTurns(ctx, pace)

  return {
    queue: 'deliveries',
    hands: HANDS,
    graceMs,

    async claim(most) {
      const claimed = await claim(Math.min(most, MOST_AT_ONCE))
      for (const { endpointId } of claimed) pace.begin(endpointId)
      return claimed
    },

    async carryOut(delivery, stopping) {
      const { endpointId, isWanted } = delivery
      let attempted: Attempted | undefined
      try {
        if (!isWanted) return await settle(unwanted(delivery))
        attempted = await attemptDelivery(ctx, await pools, delivery, stopping)
      } finally {
        // The place is free as soon as the receiver has answered, not when that is noted.
        pace.end(
          endpointId,
          attempted ? (attempted.isTaken ? 'answered well' : 'failed') : 'not tried',
        )
      }
      if (!attempted) return giveBackDelivery(ctx, delivery)
      await note(ctx, settle, delivery, attempted)
    },
  }
}

/** Endpoint after endpoint: when there's more than can be carried, the next look goes on where the last one ended. */
function inTurns(ctx: Context, pace: Pace): (most: number) => Promise<ClaimedDelivery[]> {
  let after = 0
  return async (most) => {
    const claimed = await claimDeliveries(ctx, { after, most, free: pace.free() })
    const began = after
    after = claimed.length < most ? 0 : Math.max(...claimed.map(({ endpointId }) => endpointId))
    if (claimed.length > 0 || began === 0) return claimed
    return claimDeliveries(ctx, { after: 0, most, free: pace.free() })
  }
}

/** The seller deleted the endpoint, or it was disabled, when this was on its way already. */
const unwanted = (delivery: ClaimedDelivery): Outcome => ({
  delivery,
  attempt: null,
  status: delivery.isResend ? undefined : 'skipped',
  nextAttemptAt: null,
})

async function note(
  ctx: Context,
  settle: (outcome: Outcome) => Promise<void>,
  delivery: ClaimedDelivery,
  { attempt, isTaken, isHopeless }: Attempted,
): Promise<void> {
  const { id, endpointId, event } = delivery
  ctx.metrics.attempted(isTaken, attempt.durationMs / 1000)
  if (isTaken) {
    const outcome: Outcome = { delivery, attempt, status: 'delivered', nextAttemptAt: null }
    return persistently(ctx, () => settle(outcome))
  }
  const said = { delivery: id, endpoint: endpointId, event, reason: attempt.error }
  if (delivery.isResend) {
    ctx.log.info(said, 'a delivery that was sent again failed')
    const outcome: Outcome = { delivery, attempt, status: undefined, nextAttemptAt: null }
    return persistently(ctx, () => settle(outcome))
  }
  const nextAttemptAt = isHopeless
    ? undefined
    : nextTryAt(delivery.tries + 1, delivery.firstAttemptAt ?? attempt.at, attempt.at)
  ctx.log.info(said, nextAttemptAt ? 'a delivery failed, and is tried again' : 'a delivery failed')
  await persistently(ctx, () =>
    nextAttemptAt
      ? settle({ delivery, attempt, status: 'pending', nextAttemptAt })
      : failDelivery(ctx, delivery, attempt),
  )
}

/** A database that is away for a moment makes nobody get something twice. */
async function persistently({ log }: Pick<Context, 'log'>, write: () => Promise<void>) {
  for (let tries = 1; ; tries++) {
    try {
      return await write()
    } catch (error) {
      if (tries === NOTE_TRIES) throw error
      if (tries === 1) log.warn({ err: error }, 'an attempt could not be noted yet')
      await sleep(NOTE_AGAIN_MS)
    }
  }
}
