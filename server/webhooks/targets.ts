import type { Context } from '../context.ts'
import { credentialsIn } from './credentials.ts'
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
  /** Reads those that aren't known yet; deleted endpoints have none. */
  learn(endpointIds: number[]): Promise<void>
  /**
   * One that was learnt.
   *
   * @throws Error when SECRET_KEY isn't the one that its secret was sealed with
   */
  of(endpointId: number): Target
}

type Known = { accountId: number; url: string; sealed: Buffer; target?: Target }

const MOST_KNOWN = 10_000

/** Remembers where deliveries go, so that it isn't read and deciphered for each of them. */
export function openTargets(ctx: Pick<Context, 'db' | 'config'>): Targets {
  const known = new Map<number, Known>()

  return {
    async learn(endpointIds) {
      const unknown = endpointIds.filter((id) => !known.has(id))
      if (unknown.length === 0) return
      const rows = await ctx.db<(Known & { id: number })[]>`
        select id, account_id as "accountId", url, secret as sealed
        from webhook_endpoints
        where id = any(${[...new Set(unknown)]}::bigint[]) and deleted_at is null
      `
      for (const { id, ...endpoint } of rows) known.set(id, endpoint)
    },

    of(endpointId) {
      const endpoint = known.get(endpointId)
      if (!endpoint) throw new Error(`Endpoint ${endpointId} is not known.`)
      endpoint.target ??= targetOf(ctx, endpoint)
      // The oldest goes: it's read again should it be needed.
      if (known.size > MOST_KNOWN) known.delete(known.keys().next().value!)
      return endpoint.target
    },
  }
}

function targetOf({ config }: Pick<Context, 'config'>, { accountId, url, sealed }: Known): Target {
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
