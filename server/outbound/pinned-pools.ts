import { type Dispatcher, Pool } from 'undici'
import { connectorTo } from './guarded-connector.ts'
import type { Network } from './network.ts'

/**
 * How long a connection waits for the next request, and a pool for its next use. Short, so that a receiver doesn't close
 * one at the moment we send on it.
 */
const KEPT_ALIVE_MS = 1_000
const IDLE_MS = 10_000

/** Connections to hosts whose addresses were checked, kept open between requests that follow closely. */
export type PinnedPools = {
  /**
   * A way to this origin over these addresses and no others: what is kept open to former addresses of a name isn't used
   * once the name points elsewhere.
   */
  to(origin: string, addresses: string[]): Dispatcher
  close(): Promise<void>
}

/** @param timeoutMs for connecting, TLS included */
export function pinnedPools(network: Network, { timeoutMs }: { timeoutMs: number }): PinnedPools {
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
      let known = pools.get(key)
      if (!known) {
        const pool = new Pool(origin, {
          connect: connectorTo(network, addresses, { timeoutMs }),
          keepAliveTimeout: KEPT_ALIVE_MS,
          keepAliveMaxTimeout: KEPT_ALIVE_MS,
          // Whoever sends has a limit for all of it.
          headersTimeout: 0,
          bodyTimeout: 0,
        })
        known = { pool, usedAt: 0 }
        pools.set(key, known)
      }
      known.usedAt = performance.now()
      return known.pool
    },
    async close() {
      clearInterval(closeIdle)
      await Promise.all([...pools.values()].map(({ pool }) => pool.destroy()))
    },
  }
}
