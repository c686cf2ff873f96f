import type { Context } from '../context.ts'
import { credentialsIn } from './basic-auth.ts'
import type { ClaimedDelivery } from './delivery.ts'
import { unseal } from './secret.ts'

/** The facts about an endpoint that an attempt needs. Only the secrets ever change. */
export type CachedEndpoint = {
  secret: string
  /** The secret before the last rotation, which signs as well until this time. */
  previous: { secret: string; until: Date } | undefined
  hostname: string
  origin: string
  /** Includes the query. */
  path: string
  /** The headers that all of its deliveries have in common. */
  headers: Record<string, string>
}

type EndpointCache = {
  /** Reads the endpoints that aren't cached yet, or only with an earlier secret. */
  load(claimed: Pick<ClaimedDelivery, 'endpointId' | 'secretNumber'>[]): Promise<void>
  /**
   * @returns undefined if the endpoint was deleted before `load`, or evicted since
   * @throws Error if its secret was sealed with another SECRET_KEY
   */
  get(endpointId: number): CachedEndpoint | undefined
}

type Entry = {
  accountId: number
  url: string
  sealed: Buffer
  previousSealed: Buffer | null
  previousUntil: Date | null
  secretNumber: number
  endpoint?: CachedEndpoint
}

const MAX_ENTRIES = 10_000

/** Caches endpoints by least recent use, so that deliveries don't each read and decrypt their own. */
export function endpointCache(ctx: Context): EndpointCache {
  const entries = new Map<number, Entry>()

  return {
    async load(claimed) {
      const missing: number[] = []
      const numbers = new Map(
        claimed.map(({ endpointId, secretNumber }) => [endpointId, secretNumber]),
      )
      for (const [id, number] of numbers) {
        const entry = entries.get(id)
        if (!entry || entry.secretNumber < number) {
          // An outdated entry stays until it is replaced, for the deliveries that were claimed before.
          missing.push(id)
          continue
        }
        // At the end of the map: the beginning is evicted first.
        entries.delete(id)
        entries.set(id, entry)
      }
      if (missing.length === 0) return
      const rows = await ctx.db<(Entry & { id: number })[]>`
        select
          id,
          account_id as "accountId",
          url,
          secret as sealed,
          previous_secret as "previousSealed",
          previous_secret_until as "previousUntil",
          secret_number as "secretNumber"
        from webhook_endpoints
        where id = any(${missing}::bigint[]) and deleted_at is null
      `
      for (const id of missing) entries.delete(id)
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

function endpointFrom({ config }: Context, entry: Entry): CachedEndpoint {
  const { accountId, url, sealed, previousSealed, previousUntil } = entry
  const parsed = new URL(url)
  const { hostname, origin, pathname, search } = parsed
  return {
    secret: unseal(config, accountId, sealed),
    previous:
      previousSealed && previousUntil
        ? { secret: unseal(config, accountId, previousSealed), until: previousUntil }
        : undefined,
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
