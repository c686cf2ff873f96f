import { type Dispatcher, Pool } from 'undici'
import { connectorTo } from './guarded-connector.ts'
import type { Network } from './network.ts'

/**
 * Idle time of a connection. It is short, so that a receiver rarely closes a connection just as a request is sent on it.
 */
const KEEP_ALIVE_MS = 1_000
/** Idle time of a pool, in addition to the timeout of its last request. */
const IDLE_MS = 10_000

/** Keep-alive connections to hosts whose addresses were checked. */
export type PinnedPools = {
  /** A pool for this origin that connects to these addresses only: another set of addresses gets another pool. */
  to(origin: string, addresses: string[]): Dispatcher
  close(): Promise<void>
}

export type PoolOptions = {
  /** Time limit of connecting, TLS included. */
  timeoutMs: number
  /** Idle time after which a connection is closed. */
  keepAliveMs?: number
}

export function pinnedPools(
  network: Network,
  { timeoutMs, keepAliveMs = KEEP_ALIVE_MS }: PoolOptions,
): PinnedPools {
  const pools = new Map<string, { pool: Pool; usedAt: number }>()

  const closeIdle = setInterval(() => {
    const before = performance.now() - IDLE_MS - timeoutMs
    for (const [key, { pool, usedAt }] of pools) {
      if (usedAt > before) continue
      pools.delete(key)
      void pool.close()
    }
  }, IDLE_MS).unref()

  return {
    to(origin, addresses) {
      const key = `${origin} ${addresses.toSorted()}`
      let entry = pools.get(key)
      if (!entry) {
        const pool = new Pool(origin, {
          connect: connectorTo(network, addresses, { timeoutMs }),
          keepAliveTimeout: keepAliveMs,
          keepAliveMaxTimeout: keepAliveMs,
          // The sender has a time limit for the whole request.
          headersTimeout: 0,
          bodyTimeout: 0,
        })
        entry = { pool, usedAt: 0 }
        pools.set(key, entry)
      }
      entry.usedAt = performance.now()
      return entry.pool
    },
    async close() {
      clearInterval(closeIdle)
      await Promise.all([...pools.values()].map(({ pool }) => pool.destroy()))
    },
  }
}
