import type { Context } from '../context.ts'
import { credentialsIn } from './basic-auth.ts'
import { unseal } from './secret.ts'

/** What an attempt needs of an endpoint. None of it ever changes. */
export type Target = {
  secret: string
  hostname: string
  origin: string
  /** With the query. */
  path: string
  /** Those that are the same for each delivery. */
  headers: Record<string, string>
}

export type Targets = {
  /** Reads those that aren't known yet. */
  learn(endpointIds: number[]): Promise<void>
  /**
   * One that was learnt lately; undefined when the endpoint was deleted before that.
   *
   * @throws Error when SECRET_KEY isn't the one that its secret was sealed with
   */
  of(endpointId: number): Target | undefined
}

type Known = { accountId: number; url: string; sealed: Buffer; target?: Target }

const MAX_KNOWN = 10_000

/** Remembers where deliveries go, so that it isn't read and deciphered for each of them. */
export function openTargets(ctx: Context): Targets {
  const known = new Map<number, Known>()

  return {
    async learn(endpointIds) {
      const wanted = [...new Set(endpointIds)]
      for (const id of wanted) {
        const endpoint = known.get(id)
        // The last to be wanted are the last to be forgotten.
        if (endpoint && known.delete(id)) known.set(id, endpoint)
      }
      const unknown = wanted.filter((id) => !known.has(id))
      if (unknown.length === 0) return
      const rows = await ctx.db<(Known & { id: number })[]>`
        select id, account_id as "accountId", url, secret as sealed
        from webhook_endpoints
        where id = any(${unknown}::bigint[]) and deleted_at is null
      `
      for (const { id, ...endpoint } of rows) known.set(id, endpoint)
      for (const id of known.keys()) {
        if (known.size <= MAX_KNOWN) break
        known.delete(id)
      }
    },

    of(endpointId) {
      const endpoint = known.get(endpointId)
      if (!endpoint) return undefined
      endpoint.target ??= targetOf(ctx, endpoint)
      return endpoint.target
    },
  }
}

function targetOf({ config }: Context, { accountId, url, sealed }: Known): Target {
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
