import type { Context } from '../context.ts'
import { connect } from '../database/connect.ts'
import type { Signals } from '../database/signals.ts'
import type { Sql } from '../database/sql.ts'
import type { Metrics } from '../metrics.ts'
import type { Network } from '../outbound/network.ts'
import type { PinnedPools, PoolOptions } from '../outbound/pinned-pools.ts'
import { batch } from '../queue/batch.ts'
import { persistently } from '../queue/persistently.ts'
import {
  drainQueue,
  startWorker,
  type Work,
  type Worker,
  type WorkerOptions,
} from '../queue/worker.ts'
import { type Attempted, attemptDelivery } from './attempt-delivery.ts'
import type { ClaimedDelivery } from './delivery.ts'
import {
  claimForAllEndpoints,
  claimForEndpoints,
  failDelivery,
  recordOutcomes,
  releaseDeliveries,
} from './delivery-queue.ts'
import { endpointCache } from './endpoint-cache.ts'
import { type Capacity, endpointLimiter } from './endpoint-concurrency.ts'
import { type Outcome, outcomeOf, type RecordableOutcome, skippedOutcome } from './outcome.ts'

type DeliveryContext = Context & { databaseUrl: string; network: Network; metrics: Metrics }

/** Claimed deliveries in one process. Most of them wait for their receiver's response. */
const CONCURRENCY = 1_000
const MAX_BATCH = 250
/** While known endpoints have a backlog, the interval at which all endpoints are polled. Real time. */
const CLAIM_FOR_ALL_INTERVAL_MS = 20
/** Real time for which an outcome waits for others, to be recorded with them in one statement. */
const GATHER_MS = 10
/** One connection for claims and one for outcomes. */
const QUEUE_CONNECTIONS = 2
/** At a shutdown, time for attempts to finish, because an interrupted one may have arrived and is repeated. */
const GRACE_MS = 5_000

type DeliveryWorkerOptions = WorkerOptions & {
  graceMs?: number
  /** Tests keep connections longer. */
  keepAliveMs?: number
}

/** Sends deliveries as they become due, together with the workers of other processes. */
export function startDeliveryWorker(
  ctx: DeliveryContext & { signals: Signals },
  options: DeliveryWorkerOptions = {},
): Worker {
  const tools = openTools(ctx, options.keepAliveMs)
  const work = deliveryWork(ctx, tools, options.graceMs)
  const worker = startWorker(ctx, work, options)
  // An endpoint was disabled or deleted, in this process or another.
  const unsubscribe = ctx.signals.on('endpoints', work.returnAll)
  return {
    async stop() {
      unsubscribe()
      await worker.stop()
      await tools.close()
    },
  }
}

/** Sends every delivery that is due now or becomes due meanwhile, then returns. */
export async function runDueDeliveries(ctx: DeliveryContext): Promise<void> {
  const tools = openTools(ctx)
  try {
    await drainQueue(ctx, deliveryWork(ctx, tools))
  } finally {
    await tools.close()
  }
}

type Tools = {
  pools: () => Promise<PinnedPools>
  /**
   * Connections for claims and outcomes. They commit asynchronously, because waiting for the disk would make deliveries
   * several times slower. If the database crashes, deliveries of the last fraction of a second are sent again.
   */
  queue: Sql
  close(): Promise<void>
}

function openTools({ network, config, databaseUrl }: DeliveryContext, keepAliveMs?: number): Tools {
  let opened: Promise<PinnedPools> | undefined
  const queue = connect(databaseUrl, { max: QUEUE_CONNECTIONS, forQueue: true })
  return {
    pools: () =>
      (opened ??= openPools(network, { timeoutMs: config.webhookTimeoutMs, keepAliveMs })),
    queue,
    async close() {
      await (await opened)?.close()
      await queue.end({ timeout: 5 })
    },
  }
}

/**
 * Loads undici with the first delivery: it takes a tenth of a second and 8 MB, which a service without webhooks saves.
 */
const openPools = async (network: Network, options: PoolOptions) =>
  (await import('../outbound/pinned-pools.ts')).pinnedPools(network, options)

function deliveryWork(
  ctx: DeliveryContext,
  { pools, queue }: Tools,
  graceMs = GRACE_MS,
): Work<ClaimedDelivery> & { returnAll(): void } {
  const limiter = endpointLimiter(CONCURRENCY)
  const queueCtx = { ...ctx, db: queue }
  const endpoints = endpointCache(queueCtx)
  const record = batch<RecordableOutcome>((outcomes) => recordOutcomes({ db: queue }, outcomes), {
    max: MAX_BATCH,
    gatherMs: GATHER_MS,
  })
  const release = batch<ClaimedDelivery>(
    (deliveries) => releaseDeliveries({ db: queue }, deliveries),
    { max: MAX_BATCH },
  )
  let isFull = false
  /** The endpoint after which the next claim for all continues, so that no endpoint starves. */
  let nextAfter = 0
  let claimedForAllAt = Number.NEGATIVE_INFINITY

  const recordClaim = async (claimed: ClaimedDelivery[], capacity: Capacity, max: number) => {
    await endpoints.load(claimed)
    isFull = claimed.length === max
    limiter.recordClaim(claimed, capacity, isFull)
    return claimed
  }

  const claimBacklog = async (max: number): Promise<ClaimedDelivery[]> => {
    const capacity = limiter.backlogCapacity()
    return recordClaim(await claimForEndpoints(queueCtx, { max, capacity }), capacity, max)
  }

  const claimForAll = async (max: number, afterEndpoint: number): Promise<ClaimedDelivery[]> => {
    claimedForAllAt = performance.now()
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
      // A claim's limits are those of its start: if it took every free slot, none would be left for another seller.
      const max = Math.min(Math.ceil(free / 2), MAX_BATCH)
      const isRecent = performance.now() - claimedForAllAt < CLAIM_FOR_ALL_INTERVAL_MS
      if (isRecent && limiter.hasBacklogCapacity()) {
        const claimed = await claimBacklog(max)
        if (claimed.length > 0) return claimed
      }
      const after = nextAfter
      const claimed = await claimForAll(max, after)
      return claimed.length === 0 && after > 0 ? claimForAll(max, 0) : claimed
    },

    shouldPoll: () => isFull || limiter.hasBacklogCapacity(),

    async run(delivery, stopping, poll) {
      const { endpointId, isWanted } = delivery
      if (!isWanted) {
        limiter.skip(endpointId)
        return record(skippedOutcome(delivery))
      }
      if (!(await limiter.acquire(endpointId))) {
        await release(delivery)
        return limiter.returned(endpointId)
      }
      let result: 'failed' | 'not attempted' | 'released' = 'not attempted'
      try {
        const endpoint = endpoints.get(endpointId)
        // It was deleted after the claim.
        if (!endpoint) return await record(skippedOutcome(delivery))
        const attempted = await attemptDelivery(ctx, await pools(), endpoint, delivery, stopping)
        if (!attempted) return await release(delivery)
        if (attempted.isTaken) {
          // A success makes room before it is recorded. A failure doesn't: recording it may disable the endpoint.
          limiter.release(endpointId, 'delivered')
          result = 'released'
          if (limiter.hasBacklogCapacity()) poll()
        } else result = 'failed'
        await recordAttempt(ctx, record, delivery, attempted)
      } finally {
        if (result !== 'released') limiter.release(endpointId, result)
      }
    },
  }
}

const failureMessage = ({ delivery, status }: Outcome) =>
  delivery.isResend
    ? 'resend failed'
    : status === 'pending'
      ? 'delivery attempt failed; will retry'
      : 'delivery failed'

async function recordAttempt(
  ctx: DeliveryContext,
  record: (outcome: RecordableOutcome) => Promise<void>,
  delivery: ClaimedDelivery,
  attempted: Attempted,
): Promise<void> {
  const { attempt, isTaken } = attempted
  const outcome = outcomeOf(delivery, attempted)
  ctx.metrics.observeDeliveryAttempt(isTaken, attempt.durationMs / 1000)
  if (!isTaken) {
    const { id, endpointId, event } = delivery
    const reason = attempt.error
    ctx.log.info({ delivery: id, endpoint: endpointId, event, reason }, failureMessage(outcome))
  }
  await persistently(ctx, 'cannot record a delivery attempt; retrying', () =>
    outcome.status === 'failed' ? failDelivery(ctx, delivery, outcome.attempt) : record(outcome),
  )
}
