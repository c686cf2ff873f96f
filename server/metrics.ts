import { statfs } from 'node:fs/promises'
import {
  AggregatorRegistry,
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type Metric,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from 'prom-client'
import type { Config } from './config.ts'
import type { Db } from './database/sql.ts'

const UNREADABLE = [400, 408, 431]
const LIMITS = ['read', 'write', 'authentication'] as const
const MAIL_OUTCOMES = ['sent', 'captured', 'logged', 'failed', 'given_up'] as const
const PHOTO_OUTCOMES = ['stored', 'failed'] as const
const LABEL_OUTCOMES = ['ready', 'processing', 'action_required', 'refused', 'unknown'] as const
const FILE_KINDS = ['photo', 'label'] as const
const ORDER_CHANGES = ['created', 'shipped', 'received', 'disputed', 'cancelled'] as const
const IMPORT_OUTCOMES = ['complete', 'interrupted', 'failed'] as const
const PROCESS_FAILURES = ['crash', 'hang', 'start'] as const
const IMPORT_RESULTS = ['created', 'updated', 'unchanged', 'rejected'] as const

export type MailOutcome = (typeof MAIL_OUTCOMES)[number]
export type LabelOutcome = (typeof LABEL_OUTCOMES)[number]
export type OrderChange = (typeof ORDER_CHANGES)[number]
/** The process ended by itself, hung, or could not start. */
export type ProcessFailure = (typeof PROCESS_FAILURES)[number]
type ImportOutcome = (typeof IMPORT_OUTCOMES)[number]
type ImportCounts = Record<(typeof IMPORT_RESULTS)[number], number>

/** The source of the gauges of the database and of the queues. */
type Source = { db: Db; now: () => Date; config: Pick<Config, 'carrier'> }

/** The metrics of one process, as it sends them to another one. */
export type ProcessMetrics = MetricObjectWithValues<MetricValue<string>>[]

/** The service's Prometheus metrics. */
export type Metrics = {
  /** @param route the pattern, never the path as sent */
  observeRequest(method: string, route: string, status: number, seconds: number): void
  /** Counts a response to bytes that are not a complete request. */
  countUnreadable(status: number): void
  countRateLimited(limit: (typeof LIMITS)[number]): void
  observeDeliveryAttempt(isDelivered: boolean, seconds: number): void
  countMailAttempt(outcome: MailOutcome): void
  countPhotoAttempt(outcome: (typeof PHOTO_OUTCOMES)[number]): void
  /** @param outcome the status of the shipment, or the outcome of the carrier's failure */
  countLabelPurchase(outcome: LabelOutcome): void
  countFileNotStored(kind: (typeof FILE_KINDS)[number]): void
  /** Counts a failed run of a recurring job, unless the database was unavailable. */
  countFailedJob(): void
  /** Call it after the commit. Inside the transaction of a request, the count waits for its commit. */
  countOrderRows(change: OrderChange, rows: number): void
  /** @param counts the records, as far as they are known */
  countImport(outcome: ImportOutcome, counts?: ImportCounts): void
  /** False counts a lost connection. */
  setRedisUp(isUp: boolean): void
  /** The counters and histograms of this process, and its own CPU time and memory. */
  ofThisProcess(): Promise<ProcessMetrics>
  /**
   * The response of /metrics, for all processes together. Gauges of the database are at most `maxAgeMs` old, and absent
   * while it is down.
   */
  text(ctx: Source): Promise<string>
  contentType: string
  close(): void
}

/** Bucket boundaries in seconds. Most responses come from memory, within a millisecond. */
const LATENCY_BUCKETS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10,
]
/** Receivers are remote, and some never respond. */
const ATTEMPT_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** Real time. More frequent scrapes get the cached values. */
const MAX_AGE_MS = 5_000
/** Real time. Gauges whose queries take longer are absent, and the database counts as down. */
const READ_TIMEOUT_MS = 2_000
/** Bounds the cost of a scrape: a longer queue is not counted further. */
const MAX_COUNTED = 100_000

type MetricsOptions = {
  /** The service writes to these directories. The disk metrics are those of the fullest of their file systems. */
  directories: (string | URL)[]
  hasRedis?: boolean
  /** Reads the metrics of the other processes, which get those of this one. */
  others?: ((own: ProcessMetrics) => Promise<ProcessMetrics[]>) | undefined
  maxAgeMs?: number
}

/** Creates the metrics of one app, with their own registry: a process can have several apps in tests. */
export function createMetrics({
  directories,
  hasRedis = false,
  others,
  maxAgeMs = MAX_AGE_MS,
}: MetricsOptions): Metrics {
  /** Metrics that each process counts for itself: /metrics adds them up. */
  const registry = new Registry()
  const shared = sharedGauges(directories, maxAgeMs)
  collectDefaultMetrics({ register: registry })
  // The library takes the average of all processes: the alert rules would not notice one of eight that is blocked.
  Object.assign(registry.getSingleMetric('nodejs_eventloop_lag_p99_seconds')!, {
    aggregator: 'max',
  })

  const requests = requestHistogram(registry)
  const counterBy = counterIn(registry)
  const limited = counterBy(
    'cardstall_rate_limited_total',
    'Requests refused because a limit was reached',
    'limit',
    LIMITS,
  )
  const unreadable = counterBy(
    'cardstall_http_unreadable_requests_total',
    'Requests that got a response before they were read: invalid HTTP, slow, or with large headers',
    'status',
    UNREADABLE,
  )
  const attempts = new Histogram({
    name: 'cardstall_webhook_attempt_duration_seconds',
    help: 'Duration of an attempt at a webhook delivery',
    labelNames: ['outcome'],
    buckets: ATTEMPT_BUCKETS,
    registers: [registry],
  })
  const redisUp = new Gauge({
    name: 'cardstall_redis_up',
    help: '1 while Redis counts the rate limits; absent without REDIS_URL',
    aggregator: 'min',
    registers: [registry],
  })
  const redisLost = new Counter({
    name: 'cardstall_redis_connections_lost_total',
    help: 'Connections to Redis that were lost or could not be opened',
    registers: [registry],
  })
  if (!hasRedis) redisUp.remove()

  const mails = counterBy(
    'cardstall_mail_attempts_total',
    'Attempts at sending an e-mail',
    'outcome',
    MAIL_OUTCOMES,
  )
  const photos = counterBy(
    'cardstall_photo_attempts_total',
    'Attempts at fetching a photo',
    'outcome',
    PHOTO_OUTCOMES,
  )
  const labels = counterBy(
    'cardstall_label_purchases_total',
    'Purchases of platform labels, by the status of the shipment or the failure of the carrier',
    'outcome',
    LABEL_OUTCOMES,
  )
  const filesNotStored = counterBy(
    'cardstall_files_not_stored_total',
    'Attempts at storing a photo, or at fetching and storing a label, that failed',
    'kind',
    FILE_KINDS,
  )
  const failedJobs = new Counter({
    name: 'cardstall_job_failures_total',
    help: 'Runs of recurring jobs that failed while the database was available',
    registers: [registry],
  })
  processFailuresIn(registry)
  const orderRows = counterBy(
    'cardstall_order_rows_total',
    'Order rows that were created or changed their status',
    'change',
    ORDER_CHANGES,
  )
  const imports = counterBy(
    'cardstall_catalog_imports_total',
    'Imports of the catalog',
    'outcome',
    IMPORT_OUTCOMES,
  )
  const importedRecords = counterBy(
    'cardstall_catalog_import_records_total',
    'Records that imports of the catalog contained',
    'result',
    IMPORT_RESULTS,
  )

  const sumWith = async (read: NonNullable<typeof others>) => {
    const own = await registry.getMetricsAsJSON()
    return AggregatorRegistry.aggregate([own, ...(await read(own))])
  }

  for (const outcome of ['delivered', 'failed']) attempts.zero({ outcome })
  const delivered = attempts.labels('delivered')
  const failed = attempts.labels('failed')

  return {
    observeRequest: requests,

    observeDeliveryAttempt(isDelivered, seconds) {
      const histogram = isDelivered ? delivered : failed
      histogram.observe(seconds)
    },

    countUnreadable: (status) => unreadable.labels(String(status)).inc(),
    countRateLimited: (limit) => limited.labels(limit).inc(),
    countMailAttempt: (outcome) => mails.labels(outcome).inc(),
    countPhotoAttempt: (outcome) => photos.labels(outcome).inc(),
    countLabelPurchase: (outcome) => labels.labels(outcome).inc(),
    countFileNotStored: (kind) => filesNotStored.labels(kind).inc(),
    countFailedJob: () => failedJobs.inc(),
    countOrderRows: (change, rows) => orderRows.labels(change).inc(rows),

    countImport(outcome, counts) {
      imports.labels(outcome).inc()
      if (!counts) return
      for (const result of IMPORT_RESULTS) importedRecords.labels(result).inc(counts[result])
    },

    setRedisUp(isUp) {
      redisUp.set(isUp ? 1 : 0)
      if (!isUp) redisLost.inc()
    },

    ofThisProcess: () => registry.getMetricsAsJSON(),

    async text(ctx) {
      const [sum, gauges] = await Promise.all([
        others ? sumWith(others) : registry,
        shared.text(ctx),
      ])
      return `${await sum.metrics()}${gauges}`
    },

    contentType: registry.contentType,
    close() {
      registry.clear()
      shared.clear()
    },
  }
}

/** Makes counters with one label. Every value starts at 0, so that `increase()` sees its first increment. */
const counterIn =
  (registry: Registry) =>
  (name: string, help: string, label: string, values: readonly (string | number)[]): Counter => {
    const counter = new Counter({ name, help, labelNames: [label], registers: [registry] })
    for (const value of values) counter.labels(String(value)).inc(0)
    return counter
  }

const processFailuresIn = (registry: Registry) =>
  counterIn(registry)(
    'cardstall_process_failures_total',
    'Processes that ended by themselves, hung or could not start, and were replaced',
    'kind',
    PROCESS_FAILURES,
  )

/** Counts the failures of processes in the primary process, which replaces them. */
export function countProcessFailures() {
  const registry = new Registry()
  const failures = processFailuresIn(registry)
  return {
    count: (kind: ProcessFailure) => failures.labels(kind).inc(),
    metrics: (): Promise<ProcessMetrics> => registry.getMetricsAsJSON(),
  }
}

/** The metrics that any process can read for all of them: database, queues, disk. */
function sharedGauges(directories: MetricsOptions['directories'], maxAgeMs: number) {
  const registry = new Registry()
  const deliveriesDue = new Gauge({
    name: 'cardstall_webhook_deliveries_waiting',
    help: 'Webhook deliveries with an attempt due now or later',
    registers: [registry],
  })
  const databaseUp = new Gauge({
    name: 'cardstall_database_up',
    help: '1 if the database responded at the last read',
    registers: [registry],
  })
  const databaseSeconds = new Gauge({
    name: 'cardstall_database_ping_seconds',
    help: 'Response time of the database at the last read',
    registers: [registry],
  })
  const databaseSize = new Gauge({
    name: 'cardstall_database_size_bytes',
    help: 'Size of the database',
    registers: [registry],
  })
  const connections = new Gauge({
    name: 'cardstall_database_connections',
    help: 'Connections to the database by state, all processes together',
    labelNames: ['state'],
    registers: [registry],
  })

  const queueItems = new Gauge({
    name: 'cardstall_queue_items',
    help: 'Unfinished items of a queue, due now or later; counted to 100,000',
    labelNames: ['queue'],
    registers: [registry],
  })
  const queueAge = new Gauge({
    name: 'cardstall_queue_oldest_due_seconds',
    help: 'Time for which the oldest due item of a queue has been due; 0 when nothing is due',
    labelNames: ['queue'],
    registers: [registry],
  })
  const diskSize = new Gauge({
    name: 'cardstall_disk_size_bytes',
    help: 'Size of the file system of DATA_DIR or STORAGE_URL, the fuller one',
    registers: [registry],
  })
  const diskFree = new Gauge({
    name: 'cardstall_disk_free_bytes',
    help: 'Free space of the file system of DATA_DIR or STORAGE_URL, the fuller one',
    registers: [registry],
  })

  const readDatabase = async ({ db }: Source) => {
    const began = performance.now()
    const states = await readConnections(db)
    databaseUp.set(1)
    databaseSeconds.set((performance.now() - began) / 1000)
    databaseSize.set(states[0]?.size ?? 0)
    connections.reset()
    for (const { state, count } of states) connections.labels(state).set(count)
  }
  // Stale values would look current.
  const forgetDatabase = () => {
    databaseUp.set(0)
    databaseSeconds.remove()
    databaseSize.remove()
    connections.reset()
  }

  const readQueues = async ({ db, now, config }: Source) => {
    for (const { queue, items, oldestDue } of await readQueueRows(db, config.carrier ?? null)) {
      queueItems.labels(queue).set(items)
      const age = oldestDue === null ? 0 : (now().getTime() - oldestDue.getTime()) / 1000
      queueAge.labels(queue).set(Math.max(age, 0))
      if (queue === 'deliveries') deliveriesDue.set(items)
    }
  }
  const forgetQueues = () => {
    deliveriesDue.remove()
    queueItems.reset()
    queueAge.reset()
  }

  const readDisk = async () => {
    // A service that stores nothing in DATA_DIR does not create it.
    const read = await Promise.allSettled(directories.map((directory) => statfs(directory)))
    const { blocks, bavail, bsize } = read
      .flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
      .reduce((a, b) => (b.bavail / b.blocks < a.bavail / a.blocks ? b : a))
    diskSize.set(blocks * bsize)
    diskFree.set(bavail * bsize)
  }
  const forgetDisk = () => {
    diskSize.remove()
    diskFree.remove()
  }

  /**
   * Reads some gauges. Concurrent scrapes share one read. Gauges that fail or take too long are absent, and don't keep others
   * from being read: a file system that hangs says nothing about the database.
   */
  const refreshing = (read: (source: Source) => Promise<void>, forget: () => void) => {
    let reading: Promise<void> | undefined
    let readAt = Number.NEGATIVE_INFINITY
    return async (source: Source) => {
      if (!reading && performance.now() - readAt < maxAgeMs) return
      reading ??= read(source)
        .catch(forget)
        .finally(() => {
          readAt = performance.now()
          reading = undefined
        })
      await waitBriefly(reading, forget)
    }
  }
  const groups = [
    refreshing(readDatabase, forgetDatabase),
    refreshing(readQueues, forgetQueues),
    refreshing(readDisk, forgetDisk),
  ]

  return {
    async text(source: Source): Promise<string> {
      await Promise.all(groups.map((refresh) => refresh(source)))
      return registry.metrics()
    },
    clear: () => registry.clear(),
  }
}

/**
 * The histogram of requests, with counters of its own: prom-client would hash the labels of every request. Each method,
 * route and status has an array: the requests of each bucket, those above all bounds, and the sum of the seconds.
 */
function requestHistogram(registry: Registry): Metrics['observeRequest'] {
  const name = 'cardstall_http_request_duration_seconds'
  const labels = ['method', 'route', 'status'] as const
  const bounds = [...LATENCY_BUCKETS, Number.POSITIVE_INFINITY]
  const routes = new Map<string, Map<number, Record<string, Float64Array>>>()

  const add = (method: string, route: string, status: number) => {
    const methods = routes.getOrInsertComputed(route, () => new Map()).getOrInsert(status, {})
    methods[method] = new Float64Array(bounds.length + 1)
    return methods[method]
  }

  const get = async () => {
    const values: { metricName: string; labels: Record<string, string | number>; value: number }[] =
      []
    for (const [route, statuses] of routes) {
      for (const [status, methods] of statuses) {
        for (const [method, counts] of Object.entries(methods)) {
          const own = { method, route, status: String(status) }
          let total = 0
          for (const [i, bound] of bounds.entries()) {
            total += counts[i]!
            const le = bound === Number.POSITIVE_INFINITY ? '+Inf' : bound
            values.push({ metricName: `${name}_bucket`, labels: { le, ...own }, value: total })
          }
          values.push({ metricName: `${name}_sum`, labels: own, value: counts[bounds.length]! })
          values.push({ metricName: `${name}_count`, labels: own, value: total })
        }
      }
    }
    const help = 'Time from the request to the end of its response'
    return { name, help, type: 'histogram', aggregator: 'sum', values }
  }
  registry.registerMetric({ name, get, labelNames: labels } as unknown as Metric)

  return (method, route, status, seconds) => {
    const counts = routes.get(route)?.get(status)?.[method] ?? add(method, route, status)
    let bucket = 0
    while (seconds > bounds[bucket]!) bucket++
    counts[bucket]!++
    counts[bounds.length]! += seconds
  }
}

const readConnections = (db: Db) => db<{ state: string; count: number; size: number }[]>`
  select
    coalesce(state, 'other') as state,
    count(*) as count,
    pg_database_size(current_database()) as size
  from pg_stat_activity
  where datname = current_database()
  group by 1
`

/**
 * Reads the depth of each queue, and the time at which its oldest item became due. It scans only the partial indexes of
 * unfinished items, and at most MAX_COUNTED entries of each. The deliveries' index begins with the endpoint, so a loose
 * index scan over the endpoints finds their oldest item.
 */
const readQueueRows = (db: Db, carrier: string | null) => db<
  { queue: string; items: number; oldestDue: Date | null }[]
>`
  with recursive endpoints as (
    (
      select endpoint_id as id
      from delivery_queue
      order by endpoint_id
      limit 1
    )
    union all
    select (
      select next.endpoint_id
      from delivery_queue next
      where next.endpoint_id > endpoints.id
      order by next.endpoint_id
      limit 1
    )
    from endpoints
    where endpoints.id is not null
  )
  select
    'mails' as queue,
    (
      -- In the order of the index, here and below: without it, statistics from the time of a long queue would lead to a
      -- scan of the whole table.
      select count(*)
      from (
        select 1 from mails where status = 'waiting' order by next_attempt_at limit ${MAX_COUNTED}
      ) one
    ) as items,
    (select min(next_attempt_at) from mails where status = 'waiting') as "oldestDue"
  union all
  select
    'photos',
    (
      select count(*)
      from (
        select 1 from photos where status = 'waiting' order by next_attempt_at limit ${MAX_COUNTED}
      ) one
    ),
    (select min(next_attempt_at) from photos where status = 'waiting')
  union all
  select
    'shipments',
    (
      select count(*)
      from (
        select 1
        from shipments
        -- Only shipments of the configured carrier are polled.
        where poll_at is not null and provider = ${carrier}
        order by poll_at
        limit ${MAX_COUNTED}
      ) one
    ),
    (select min(poll_at) from shipments where poll_at is not null and provider = ${carrier})
  union all
  select
    'deliveries',
    (
      select count(*)
      from (select 1 from delivery_queue order by endpoint_id limit ${MAX_COUNTED}) one
    ),
    (
      select min(first.due_at)
      from endpoints
      cross join lateral (
        select due_at from delivery_queue where endpoint_id = endpoints.id order by due_at limit 1
      ) first
    )
`

/** Waits at most READ_TIMEOUT_MS, so that /metrics works during an outage of the database. */
async function waitBriefly(read: Promise<void>, forget: () => void): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<'late'>()
  const timer = setTimeout(resolve, READ_TIMEOUT_MS, 'late')
  if ((await Promise.race([read, late])) === 'late') forget()
  clearTimeout(timer)
}
