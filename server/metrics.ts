import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Db } from './database/connect.ts'

/** What the service counts about itself, for Prometheus. */
export type Metrics = {
  /** Notes an answered request. `route` is the pattern, never the address as sent. */
  answered(method: string, route: string, status: number, seconds: number): void
  /** Notes a request refused by a limit: `read`, `write` or `authentication`. */
  limited(limit: string): void
  /** Notes an attempt at a delivery. */
  attempted(isTaken: boolean, seconds: number): void
  /** The text for /metrics; asks the database for its own figures first. */
  text(db: Db): Promise<string>
  contentType: string
  close(): void
}

/** Bucket borders in seconds: most answers come from memory, within a millisecond. */
const LATENCY_BUCKETS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10,
]
/** Receivers are elsewhere, and some never answer. */
const ATTEMPT_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** Metrics of one app; each has a registry of its own, so that two in one process don't mix. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })

  const requests = new Histogram({
    name: 'cardstall_http_request_duration_seconds',
    help: 'Time from the request to the end of its answer',
    labelNames: ['method', 'route', 'status'],
    buckets: LATENCY_BUCKETS,
    registers: [registry],
  })
  const limited = new Counter({
    name: 'cardstall_rate_limited_total',
    help: 'Requests refused because a limit was reached',
    labelNames: ['limit'],
    registers: [registry],
  })
  const attempts = new Histogram({
    name: 'cardstall_webhook_attempt_duration_seconds',
    help: 'Time from the beginning of an attempt at a webhook delivery to its end',
    labelNames: ['outcome'],
    buckets: ATTEMPT_BUCKETS,
    registers: [registry],
  })
  const deliveriesDue = new Gauge({
    name: 'cardstall_webhook_deliveries_waiting',
    help: 'Webhook deliveries that are to be attempted, now or later',
    registers: [registry],
  })
  const databaseUp = new Gauge({
    name: 'cardstall_database_up',
    help: '1 when the database answered just now',
    registers: [registry],
  })
  const databaseSeconds = new Gauge({
    name: 'cardstall_database_ping_seconds',
    help: 'How long the database took to answer just now',
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

  const taken = attempts.labels('delivered')
  const refused = attempts.labels('failed')

  // Finding a histogram's labels costs more than noting a value: each combination is looked up once.
  const timers = new Map<string, { observe(seconds: number): void }>()

  return {
    answered(method, route, status, seconds) {
      const key = `${method} ${route} ${status}`
      let timer = timers.get(key)
      if (!timer) {
        timer = requests.labels(method, route, String(status))
        timers.set(key, timer)
      }
      timer.observe(seconds)
    },

    attempted(isTaken, seconds) {
      ;(isTaken ? taken : refused).observe(seconds)
    },

    limited(limit) {
      limited.labels(limit).inc()
    },

    async text(db) {
      const began = performance.now()
      try {
        const states = await db<{ state: string; count: number; size: number }[]>`
          select coalesce(state, 'other') as state, count(*) as count, pg_database_size(current_database()) as size
          from pg_stat_activity
          where datname = current_database()
          group by 1
        `
        databaseUp.set(1)
        databaseSeconds.set((performance.now() - began) / 1000)
        databaseSize.set(states[0]?.size ?? 0)
        connections.reset()
        for (const { state, count } of states) connections.labels(state).set(count)
        const [waiting] = await db<{ count: number }[]>`
          select count(*) as count from deliveries where waiting_for is not null
        `
        deliveriesDue.set(waiting?.count ?? 0)
      } catch {
        // A figure of its own: the page must be readable exactly when the database isn't.
        databaseUp.set(0)
      }
      return registry.metrics()
    },

    contentType: registry.contentType,
    close: () => registry.clear(),
  }
}
