import type { Context } from '../context.ts'
import { credentialsIn } from './basic-auth.ts'
import { unseal } from './secret.ts'

/** The facts about an endpoint that an attempt needs. They never change. */
export type CachedEndpoint = {
  secret: string
  hostname: string
  origin: string
  /** Includes the query. */
  path: string
  /** The headers that all of its deliveries have in common. */
  headers: Record<string, string>
}

export type EndpointCache = {
  /** Reads the endpoints that aren't cached yet. */
  load(endpointIds: number[]): Promise<void>
  /**
   * @returns undefined if the endpoint was deleted before `load`, or evicted since
   * @throws Error if its secret was sealed with another SECRET_KEY
   */
  get(endpointId: number): CachedEndpoint | undefined
}

type Entry = { accountId: number; url: string; sealed: Buffer; endpoint?: CachedEndpoint }

const MAX_ENTRIES = 10_000

/** Caches endpoints by least recent use, so that deliveries don't each read and decrypt their own. */
export function endpointCache(ctx: Context): EndpointCache {
  const entries = new Map<number, Entry>()

  return {
    async load(endpointIds) {
      const ids = [...new Set(endpointIds)]
      for (const id of ids) {
        const entry = entries.get(id)
        // Moves it to the end of the map: the beginning is evicted first.
        if (entry && entries.delete(id)) entries.set(id, entry)
      }
      const missing = ids.filter((id) => !entries.has(id))
      if (missing.length === 0) return
      const rows = await ctx.db<(Entry & { id: number })[]>`
        select id, account_id as "accountId", url, secret as sealed
        from webhook_endpoints
        where id = any(${missing}::bigint[]) and deleted_at is null
      `
      for (const { id, ...entry } of rows) entries.set(id, entry)
      for (const id of entries.keys()) {
        if (entries.size <= MAX_ENTRIES) break
        entries.delete(id)
      }
    },

    get(endpointId) {
      const entry = entries.get(endpointId)
      if (!entry) return undefined
      entry.endpoint ??= endpointFrom(ctx, entry)
      return entry.endpoint
    },
  }
}

function endpointFrom({ config }: Context, { accountId, url, sealed }: Entry): CachedEndpoint {
  const parsed = new URL(url)
  const { hostname, origin, pathname, search } = parsed
  return {
    secret: unseal(config, accountId, sealed),
    hostname,
    origin,
    path: pathname + search,
    headers: {
      'user-agent': `Cardstall (+${config.publicUrl})`,
      'accept-encoding': 'identity',
      ...credentialsIn(parsed),
    },
  }
}
