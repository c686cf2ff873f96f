import type { Carrier } from './carriers/carrier.ts'
import { sendcloudCarrier } from './carriers/sendcloud.ts'
import { simulatedCarrier } from './carriers/simulated.ts'
import { readCatalog } from './catalog/reader.ts'
import type { Config } from './config.ts'
import type { Context, Log } from './context.ts'
import { circuitTo, connect, type Db } from './database/connect.ts'
import { migrate } from './database/migrate.ts'
import { listenForNotices, type Notices, notify } from './database/notices.ts'
import { transactionsOn } from './database/transactions.ts'
import { openFileStore } from './files/file-store.ts'
import { keyCache } from './keys/key-cache.ts'
import { memoryCounters } from './limits/counters.ts'
import { rateLimiter } from './limits/rate-limit.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { type Network, realNetwork } from './outbound/network.ts'
import { atMostEvery, type Queue, type Wakes, wakesInProcess } from './queue/wakes.ts'
import { realTime, startClock } from './sandbox/clock.ts'

/** Transactions that run at a time in one process; the pool for single statements is beside them. */
const MOST_TRANSACTIONS = 10

/** Undone in the opposite order when the process ends. */
export type Closers = (() => unknown)[]

/**
 * Brings the database up to date and puts together everything verbs work with. What has to be closed is noted
 * in `closers` as soon as it's open, so that a start that fails half-way leaves nothing behind.
 */
export async function openContext(
  config: Config,
  databaseUrl: string,
  log: Log,
  closers: Closers,
  network: Network = realNetwork,
): Promise<Context> {
  const files = await openFileStore(config.storageUrl)
  const circuit = circuitTo(databaseUrl)
  const sql = connect(databaseUrl, { circuit })
  closers.push(() => sql.end({ timeout: 5 }))
  await migrate(sql, databaseUrl)

  const transactions = transactionsOn(databaseUrl, MOST_TRANSACTIONS, { circuit })
  closers.push(() => transactions.end())
  const { begin } = transactions
  const notices = await listenForNotices(databaseUrl, log)
  closers.push(() => notices.close())
  const wakes = wakesBetween(sql, notices, log)
  const clock = await startClock({ db: sql, begin }, notices, log, wakes.wakeAll)
  const catalog = await readCatalog({
    begin,
    notices,
    marketplaceUrl: config.marketplaceUrl,
    log,
  })
  closers.push(() => catalog.close())
  const metrics = createMetrics({
    dataDir: config.dataDir,
    hasRedis: config.redisUrl !== undefined,
  })
  closers.push(() => metrics.close())
  const counters =
    config.redisUrl === undefined
      ? memoryCounters()
      : await sharedCounters(config.redisUrl, log, metrics)
  closers.push(() => counters.close())
  const carrier = openCarrier(config, { db: sql, now: clock.now }, closers)

  return {
    config,
    log,
    db: sql,
    begin,
    databaseUrl,
    clock,
    now: clock.now,
    catalog,
    keys: keyCache(sql, notices),
    limiter: rateLimiter(counters, realTime),
    notices,
    wakes,
    files,
    carrier,
    network,
    metrics,
    readiness: { ready: false },
  }
}

/** NOTIFY takes a lock on the whole database: what happens often is told at most so often, after it's committed. */
const TELL_EVERY_MS = 20

/**
 * Deliveries are for whichever process has a hand free, and an endpoint that goes concerns all that hold something for
 * it: the others hear of them, too. A notice that is lost is no harm, they also look by themselves.
 */
function wakesBetween(db: Db, notices: Notices, log: Log): Wakes {
  const tellers = new Map<Queue, () => void>()
  const wakes = wakesInProcess((queue) => tellers.get(queue)?.())
  for (const topic of ['deliveries', 'endpoints'] as const) {
    const tell = () => {
      notify(db, topic).catch((error) =>
        log.debug({ err: error, topic }, 'the other processes could not be told'),
      )
    }
    tellers.set(topic, atMostEvery(TELL_EVERY_MS, tell))
    notices.on(topic, () => wakes.wakeHere(topic))
  }
  return wakes
}

function openCarrier(
  { carrier, sendcloud }: Config,
  ctx: Pick<Context, 'db' | 'now'>,
  closers: Closers,
): Carrier | undefined {
  if (carrier === 'simulated') return simulatedCarrier(ctx)
  if (!sendcloud) return undefined
  const opened = sendcloudCarrier(sendcloud)
  closers.push(() => opened.close())
  return opened
}

/** Loaded only where it's used: the client costs a tenth of a second and 30 MB. */
async function sharedCounters(url: string, log: Log, metrics: Metrics) {
  const { redisCounters } = await import('./limits/redis-counters.ts')
  return redisCounters(url, { log, changed: metrics.redisChanged })
}
