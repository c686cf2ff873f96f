import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { Context } from '../context.ts'
import { connect } from '../database/connect.ts'
import type { Signals } from '../database/signals.ts'
import type { Sql } from '../database/sql.ts'
import type { Metrics } from '../metrics.ts'
import type { Network } from '../outbound/network.ts'
import type { PinnedPools } from '../outbound/pinned-pools.ts'
import { batch } from '../queue/batch.ts'
import {
  drainQueue,
  startWorker,
  type Work,
  type Worker,
  type WorkerOptions,
} from '../queue/worker.ts'
import { type Attempted, attemptDelivery } from './attempt-delivery.ts'
import type { ClaimedDelivery, Outcome } from './delivery.ts'
import {
  claimForAllEndpoints,
  claimForEndpoints,
  failDelivery,
  recordOutcomes,
  releaseDeliveries,
} from './delivery-queue.ts'
import { endpointCache } from './endpoint-cache.ts'
import { type Capacity, endpointLimiter } from './endpoint-concurrency.ts'
import { nextTryAt } from './retry-schedule.ts'

type DeliveryContext = Context & { databaseUrl: string; network: Network; metrics: Metrics }

/** Deliveries that one process holds at a time. Most of them wait for somebody else. */
const CONCURRENCY = 1_000
const MAX_AT_ONCE = 250
/** While known endpoints have a backlog, the interval at which the others are polled, too. Real time. */
const CLAIM_FROM_ALL_INTERVAL_MS = 20
/** How long an outcome waits for others to be noted with it. */
const GATHER_MS = 10
/** One claims while the other notes outcomes. */
const QUEUE_CONNECTIONS = 2
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
  ctx: DeliveryContext & { signals: Signals },
  options: WorkerOptions & { graceMs?: number } = {},
): Worker {
  const tools = openTools(ctx)
  const work = deliveryWork(ctx, tools, options.graceMs)
  const worker = startWorker(ctx, work, options)
  // One was disabled or deleted, here or by another process.
  const unsubscribe = ctx.signals.on('endpoints', work.returnAll)
  return {
    async stop() {
      unsubscribe()
      await worker.stop()
      await tools.close()
    },
  }
}

/** Does all that is due now, and what becomes due meanwhile. */
export async function runDueDeliveries(ctx: DeliveryContext): Promise<void> {
  const tools = openTools(ctx)
  try {
    await drainQueue(ctx, deliveryWork(ctx, tools))
  } finally {
    await tools.close()
  }
}

type Tools = {
  pools: Promise<PinnedPools>
  /**
   * For claims and outcomes. Should the database crash, what it forgets of the last fraction of a second is sent once
   * more; to wait for the disk each time would make all of it several times slower.
   */
  queue: Sql
  close(): Promise<void>
}

function openTools({ network, config, databaseUrl }: DeliveryContext): Tools {
  const pools = openPools(network, config)
  const queue = connect(databaseUrl, { max: QUEUE_CONNECTIONS, forQueue: true })
  return {
    pools,
    queue,
    async close() {
      await (await pools).close()
      await queue.end({ timeout: 5 })
    },
  }
}

/** Undici is loaded while the service gets ready: it would cost every start a tenth of a second. */
async function openPools(network: Network, { webhookTimeoutMs: timeoutMs }: Config) {
  const { pinnedPools } = await import('../outbound/pinned-pools.ts')
  return pinnedPools(network, { timeoutMs })
}

function deliveryWork(
  ctx: DeliveryContext,
  { pools, queue }: Tools,
  graceMs = GRACE_MS,
): Work<ClaimedDelivery> & { returnAll(): void } {
  const limiter = endpointLimiter()
  const queueCtx = { ...ctx, db: queue }
  const endpoints = endpointCache(queueCtx)
  const settle = batch<Outcome>((outcomes) => recordOutcomes({ db: queue }, outcomes), {
    max: MAX_AT_ONCE,
    gatherMs: GATHER_MS,
  })
  const giveBack = batch<ClaimedDelivery>(
    (deliveries) => releaseDeliveries({ db: queue }, deliveries),
    { max: MAX_AT_ONCE },
  )
  let isFull = false
  /** Where the next claim for all endpoints begins: with more deliveries due than fit, endpoints take turns. */
  let nextAfter = 0
  let claimedFromAllAt = Number.NEGATIVE_INFINITY

  const recordClaim = async (claimed: ClaimedDelivery[], capacity: Capacity, max: number) => {
    await endpoints.load(claimed.map(({ endpointId }) => endpointId))
    isFull = claimed.length === max
    limiter.recordClaim(claimed, capacity, isFull)
    return claimed
  }

  const claimBacklog = async (max: number): Promise<ClaimedDelivery[]> => {
    const capacity = limiter.backlogCapacity()
    return recordClaim(await claimForEndpoints(queueCtx, { max, capacity }), capacity, max)
  }

  const claimFromAll = async (max: number, afterEndpoint: number): Promise<ClaimedDelivery[]> => {
    claimedFromAllAt = performance.now()
    const capacity = limiter.capacity()
    const claimed = await claimForAllEndpoints(queueCtx, { max, capacity, afterEndpoint })
    await recordClaim(claimed, capacity, max)
    nextAfter = isFull ? Math.max(...claimed.map(({ endpointId }) => endpointId)) : 0
    return claimed
  }

  return {
    returnAll: limiter.returnAll,
    queue: 'deliveries',
    concurrency: CONCURRENCY,
    graceMs,

    async claim(free) {
      const max = Math.min(free, MAX_AT_ONCE)
      const isRecent = performance.now() - claimedFromAllAt < CLAIM_FROM_ALL_INTERVAL_MS
      if (isRecent && limiter.hasBacklogCapacity()) {
        const claimed = await claimBacklog(max)
        if (claimed.length > 0) return claimed
      }
      const after = nextAfter
      const claimed = await claimFromAll(max, after)
      return claimed.length === 0 && after > 0 ? claimFromAll(max, 0) : claimed
    },

    shouldPoll: () => isFull || limiter.hasBacklogCapacity(),

    async run(delivery, stopping, poll) {
      const { endpointId, isWanted } = delivery
      if (!isWanted) {
        limiter.skip(endpointId)
        return settle(unwanted(delivery))
      }
      if (!(await limiter.acquire(endpointId))) {
        await giveBack(delivery)
        return limiter.returned(endpointId)
      }
      let outcome: 'failed' | 'not attempted' | undefined = 'not attempted'
      try {
        const endpoint = endpoints.get(endpointId)
        // Deleted since it was claimed.
        if (!endpoint) return await settle(unwanted(delivery))
        const attempted = await attemptDelivery(ctx, await pools, endpoint, delivery, stopping)
        if (!attempted) return await giveBack(delivery)
        if (attempted.isTaken) {
          // The place of one that was taken is free before that is noted; a failure may turn out to be the last.
          outcome = undefined
          limiter.release(endpointId, 'delivered')
          if (limiter.hasBacklogCapacity()) poll()
        } else outcome = 'failed'
        await note(ctx, settle, delivery, attempted)
      } finally {
        if (outcome) limiter.release(endpointId, outcome)
      }
    },
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
  ctx: DeliveryContext,
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
async function persistently({ log }: Context, write: () => Promise<void>) {
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
