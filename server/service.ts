import path from 'node:path'
import type { Carrier } from './carriers/carrier.ts'
import { sendcloudCarrier } from './carriers/sendcloud.ts'
import { simulatedCarrier } from './carriers/simulated.ts'
import { type CatalogReader, openCatalog } from './catalog/reader.ts'
import type { Config } from './config.ts'
import type { Context } from './context.ts'
import { circuitFor, connect } from './database/connect.ts'
import { inTransaction } from './database/in-transaction.ts'
import { migrate } from './database/migrate.ts'
import { sharedTransactions } from './database/shared-transactions.ts'
import { openSignals, type Signals } from './database/signals.ts'
import { transactionsOn } from './database/transactions.ts'
import { warnOfClock } from './database/warn-of-clock.ts'
import { warnOfLocale } from './database/warn-of-locale.ts'
import { warnOfPooler } from './database/warn-of-pooler.ts'
import { type EventWatch, watchEvents } from './events/follow.ts'
import type { FileStore } from './files/file-store.ts'
import { openFileStore } from './files/open.ts'
import { type KeyCache, keyCache } from './keys/key-cache.ts'
import { memoryCounters } from './limits/counters.ts'
import { type RateLimiter, rateLimiter } from './limits/rate-limit.ts'
import type { SecretLookups } from './limits/secret-lookups.ts'
import { type OfferModel, openOfferModel } from './listings/offer-model.ts'
import type { Log } from './log.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { accessLookups } from './oauth/grants.ts'
import { type Network, realNetwork } from './outbound/network.ts'
import type { Closers } from './processes/lifecycle.ts'
import type { PrimaryLink } from './processes/primary-link.ts'
import { type Clock, startClock } from './sandbox/clock.ts'
import { staffLookups } from './staff/staff.ts'
import { realTime } from './time/real-time.ts'

/**
 * Connections of one process for single statements, and as many for transactions. Several processes share twice as many,
 * so that they don't exceed the server's limit. docs/operating.md has the totals, with the connections for queues, signals
 * and locks.
 */
const connectionsOf = ({ processes }: Config) =>
  Math.max(3, Math.min(10, Math.ceil(20 / processes)))

/** The whole service: the context, and members that only some verbs and the HTTP layer need. */
export type Service = Context & {
  /** URL of the database, for separate connections: locks and LISTEN. */
  databaseUrl: string
  signals: Signals
  clock: Clock
  /** Empty until it is refreshed. */
  catalog: CatalogReader
  keys: KeyCache
  accessTokens: SecretLookups
  staffTokens: SecretLookups
  offers: OfferModel
  eventWatch: EventWatch
  limiter: RateLimiter
  /** Storage of photos and labels. */
  files: FileStore
  /** Sells platform labels; undefined if none is configured. Must not be called inside a transaction. */
  carrier: Carrier | undefined
  /** DNS and TCP for user-supplied URLs. */
  network: Network
  metrics: Metrics
  /** Becomes ready once: after the first start's import, with the catalog in memory. */
  readiness: { ready: boolean }
}

/**
 * The service before it is open. Routes are registered on it while the database starts, so they read all other members
 * only when a request arrives.
 */
export const unopened = (config: Config, log: Log) => ({ config, log }) as Service

/**
 * Migrates the database and opens the service. Adds to `closers` as soon as something is open, so that a start that
 * fails can close it again.
 */
export async function openService(
  service: Service,
  databaseUrl: string,
  closers: Closers,
  { network = realNetwork, primary }: { network?: Network; primary?: PrimaryLink | undefined } = {},
): Promise<Service> {
  const { config, log } = service
  const files = await openFileStore(config.storageUrl, log)
  const circuit = circuitFor(databaseUrl)
  circuit.onClose((openMs) =>
    log.info({ seconds: Math.round(openMs / 1000) }, 'the database is available again'),
  )
  const max = connectionsOf(config)
  const sql = connect(databaseUrl, { circuit, max })
  closers.push(() => sql.end({ timeout: 5 }))
  await migrate(sql, databaseUrl, (migrations) => log.info({ migrations }, 'updating the database'))
  await warnOfLocale({ db: sql, log })
  await warnOfPooler({ db: sql, log })
  await warnOfClock({ db: sql, log })

  const transactions = transactionsOn(databaseUrl, max, { circuit })
  closers.push(() => transactions.end())
  const { begin } = transactions
  const signals = await openSignals(databaseUrl, sql, log, {
    siblings: primary?.siblings,
    circuit,
  })
  closers.push(() => signals.close())
  const { signal } = signals
  const clock = await startClock({ db: sql, begin, signal, config }, signals, log)
  // Requests that are inside a transaction can wait for a newer catalog: it must not need one of their connections.
  const catalogTransactions = transactionsOn(databaseUrl, 1, { circuit })
  closers.push(() => catalogTransactions.end())
  const catalog = await openCatalog({
    begin: catalogTransactions.begin,
    signals,
    marketplaceUrl: config.marketplaceUrl,
    log,
  })
  closers.push(() => catalog.close())
  const offers = openOfferModel({ db: sql, now: clock.now }, signals)
  closers.push(() => offers.close())
  const storage = new URL(config.storageUrl)
  const metrics = createMetrics({
    directories: [
      config.dataDir,
      // The embedded database, which can be a link to another file system.
      ...(config.databaseUrl === undefined ? [path.join(config.dataDir, 'postgres')] : []),
      ...(storage.protocol === 'file:' ? [storage] : []),
    ],
    hasRedis: config.redisUrl !== undefined,
    others: primary?.metricsOfOthers,
  })
  primary?.shareMetrics(metrics.ofThisProcess)
  closers.push(() => metrics.close())
  const counters =
    config.redisUrl === undefined
      ? (primary?.counters() ?? memoryCounters())
      : await countersInRedis(config.redisUrl, log, metrics)
  closers.push(() => counters.close())
  const carrier = openCarrier(config, { db: sql, now: clock.now, log }, closers)

  return Object.assign(service, {
    db: sql,
    begin,
    share: sharedTransactions((work) => inTransaction(service, work)),
    databaseUrl,
    clock,
    now: clock.now,
    signal,
    signals,
    catalog,
    keys: keyCache(sql, signals),
    accessTokens: accessLookups(sql, signals),
    staffTokens: staffLookups(sql, signals),
    offers,
    eventWatch: watchEvents({ db: sql, signals }),
    limiter: rateLimiter(counters, realTime),
    files,
    carrier,
    network,
    metrics,
    readiness: { ready: false },
  } satisfies Omit<Service, 'config' | 'log'>)
}

function openCarrier(
  { carrier, sendcloud }: Config,
  ctx: Pick<Context, 'db' | 'now' | 'log'>,
  closers: Closers,
): Carrier | undefined {
  if (carrier === 'simulated') return simulatedCarrier(ctx)
  if (!sendcloud) return undefined
  const opened = sendcloudCarrier(sendcloud, ctx.log)
  closers.push(() => opened.close())
  return opened
}

/** Loaded only when used: the client costs a tenth of a second and 30 MB. */
async function countersInRedis(url: string, log: Log, metrics: Metrics) {
  const { redisCounters } = await import('./limits/redis-counters.ts')
  return redisCounters(url, { log, changed: metrics.setRedisUp })
}
