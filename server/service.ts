import { readCatalog } from './catalog/catalog-reader.ts'
import { startClock } from './clock.ts'
import type { Config } from './config.ts'
import type { Context, Log } from './context.ts'
import { connect } from './database/connect.ts'
import { migrate } from './database/migrate.ts'
import { listenForNotices } from './database/notices.ts'
import { transactionsOn } from './database/transactions.ts'
import { openFileStore } from './files/file-store.ts'
import { wakesInProcess } from './jobs/wakes.ts'
import { keyCache } from './keys/key-cache.ts'
import { memoryCounters } from './limits/counters.ts'
import { rateLimiter } from './limits/rate-limit.ts'
import { createMetrics } from './metrics.ts'
import { type Network, realNetwork } from './outbound/network.ts'
import type { Carrier } from './shipping/carriers/carrier.ts'
import { sendcloudCarrier } from './shipping/carriers/sendcloud.ts'
import { simulatedCarrier } from './shipping/carriers/simulated.ts'

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
  const sql = connect(databaseUrl)
  closers.push(() => sql.end({ timeout: 5 }))
  await migrate(sql, databaseUrl)

  const transactions = transactionsOn(databaseUrl, MOST_TRANSACTIONS)
  closers.push(() => transactions.end())
  const { begin } = transactions
  const notices = await listenForNotices(databaseUrl, log)
  closers.push(() => notices.close())
  const wakes = wakesInProcess()
  const clock = await startClock({ db: sql, begin }, notices, log, wakes.wakeAll)
  const catalog = await readCatalog({
    begin,
    notices,
    marketplaceUrl: config.marketplaceUrl,
    log,
  })
  closers.push(() => catalog.close())
  const counters =
    config.redisUrl === undefined ? memoryCounters() : await sharedCounters(config.redisUrl, log)
  closers.push(() => counters.close())
  const carrier = openCarrier(config, { db: sql, now: clock.now }, closers)
  const metrics = createMetrics()
  closers.push(() => metrics.close())

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
    limiter: rateLimiter(counters, () => clock.now().getTime()),
    notices,
    wakes,
    files,
    carrier,
    network,
    metrics,
    readiness: { ready: false },
  }
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
async function sharedCounters(url: string, log: Log) {
  const { redisCounters } = await import('./limits/redis-counters.ts')
  return redisCounters(url, { log })
}
