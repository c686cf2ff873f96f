import type { Db } from '../database/connect.ts'
import type { Notices } from '../database/notices.ts'
import type { ApiAccess, SellerTier } from '../values.ts'
import { hashKey } from './api-key.ts'
import type { Scope } from './scopes.ts'

/** Who is calling: the key that came with the request, and the account it belongs to. */
export type Caller = {
  keyId: number
  /** Leading characters of the secret in use, which after a rotation may be the former one. */
  prefix: string
  scopes: Scope[]
  revokedAt: Date | null
  /** Set when the secret in use is the one before the last rotation: the end of its grace. */
  expiresAt: Date | null
  lastUsedAt: Date | null
  account: {
    id: number
    shopName: string
    slug: string
    sellerTier: SellerTier
    business: boolean
    payoutVerified: boolean
    apiAccess: ApiAccess
    rating: number | null
    reviews: number
    /** Whether a shipping option is enabled: without one nothing can be ordered. */
    ships: boolean
  }
}

export type KeyCache = {
  /** The caller that a secret belongs to, null for none. At once when it is known already. */
  find(secret: string): Caller | null | Promise<Caller | null>
  /** Notes that the key is in use, in the database at most once a minute. */
  touch(caller: Caller, now: Date): undefined | Promise<void>
  /** Forgets everything: a key or an account has changed. */
  drop(): void
}

const TOUCH_EVERY_MS = 60_000
const MOST_REMEMBERED = 50_000

/**
 * Remembers callers, so that a request needs no query. What another process changes is dropped when its notice
 * arrives; while notices may be missed nothing is remembered at all, so a revoked key is refused at once.
 */
export function keyCache(db: Db, notices: Pick<Notices, 'on' | 'connected'>): KeyCache {
  const remembered = new Map<string, Caller>()
  // A query that began before a drop may bring what was true before it: its result must not be kept.
  let generation = 0

  const drop = () => {
    generation++
    remembered.clear()
  }
  notices.on('keys', drop)

  const read = async (hashed: string): Promise<Caller | null> => {
    const began = generation
    const caller = await findCaller(db, hashed)
    if (caller && began === generation && notices.connected) {
      if (remembered.size >= MOST_REMEMBERED) remembered.clear()
      remembered.set(hashed, caller)
    }
    return caller
  }

  return {
    find(secret) {
      const hashed = hashKey(secret)
      return (notices.connected && remembered.get(hashed)) || read(hashed)
    },

    touch(caller, now) {
      const last = caller.lastUsedAt
      if (last && now.getTime() - last.getTime() < TOUCH_EVERY_MS) return undefined
      caller.lastUsedAt = now
      return writeUse(db, caller.keyId, now)
    },

    drop,
  }
}

async function findCaller(db: Db, hashed: string): Promise<Caller | null> {
  const [row] = await db<(Omit<Caller, 'account'> & Caller['account'])[]>`
    select
      k.id as "keyId",
      case when is_former then k.previous_prefix else k.prefix end as prefix,
      k.scopes,
      k.revoked_at as "revokedAt",
      case when is_former then k.previous_expires_at end as "expiresAt",
      k.last_used_at as "lastUsedAt",
      a.id,
      a.shop_name as "shopName",
      a.slug,
      a.seller_tier as "sellerTier",
      a.business,
      a.payout_verified as "payoutVerified",
      a.api_access as "apiAccess",
      a.rating::float8 as rating,
      a.reviews,
      exists (select from shipping_options o where o.account_id = a.id and o.enabled) as ships
    from (
      select api_keys.*, false as is_former from api_keys where hash = decode(${hashed}, 'hex')
      union all
      select api_keys.*, true from api_keys where previous_hash = decode(${hashed}, 'hex')
    ) k
    join accounts a on a.id = k.account_id
  `
  if (!row) return null
  const { keyId, prefix, scopes, revokedAt, expiresAt, lastUsedAt, ...account } = row
  return { keyId, prefix, scopes, revokedAt, expiresAt, lastUsedAt, account }
}

async function writeUse(db: Db, keyId: number, now: Date): Promise<void> {
  await db`
    update api_keys
    set last_used_at = ${now}
    where id = ${keyId} and (last_used_at is null or last_used_at < ${now})
  `
}
