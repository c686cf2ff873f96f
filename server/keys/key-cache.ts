import type { Signals } from '../database/signals.ts'
import type { Db } from '../database/sql.ts'
import { isUnavailable } from '../database/unavailable.ts'
import type { ApiAccess, SellerTier } from '../enums.ts'
import { PREFIX_BYTES, secretLookups } from '../limits/secret-lookups.ts'
import { withTimeout } from '../time/with-timeout.ts'
import { hashKey } from './api-key.ts'
import type { Scope } from './scopes.ts'

/** The shop that a request acts for. */
export type CallerAccount = {
  id: number
  shopName: string
  slug: string
  sellerTier: SellerTier
  business: boolean
  payoutVerified: boolean
  apiAccess: ApiAccess
  rating: number | null
  reviews: number
  /** Whether a shipping option is enabled; otherwise nothing can be ordered. */
  ships: boolean
}

/** The key of a request and its account. */
export type Caller = {
  keyId: number
  /** The subjects of the key's rate limits: made once, because the limiter finds the same text faster than an equal one. */
  subjects: Record<'read' | 'write', string>
  /** Leading characters of the secret in the request, which may be the previous one after a rotation. */
  prefix: string
  scopes: Scope[]
  revokedAt: Date | null
  /** Expiry of the secret in the request, if it is the previous one. */
  expiresAt: Date | null
  lastUsedAt: Date | null
  account: CallerAccount
}

export type KeyCache = {
  /**
   * The caller of a secret; null if no key has it. Returns no promise for a cached caller.
   *
   * @param from the subject for which wrong secrets are counted
   */
  find(secret: string, from: () => string): Caller | null | Promise<Caller | null>
  /** The cached caller of a secret that `find` has found before; undefined if the caller must use `find`. */
  peek(secret: string): Caller | undefined
  /** Updates the key's time of last use in the database, at most once a minute. */
  touch(caller: Caller, now: Date): undefined | Promise<void>
  /** Removes the callers of an account that changed, or everything. */
  drop(accountId?: number): void
}

const TOUCH_INTERVAL_MS = 60_000
const MAX_CACHED = 50_000

/** A request with a cached key waits at most this long for the database. */
const DATABASE_TIMEOUT_MS = 1_000

/**
 * Caches callers, so that a request needs no query. A signal of any process removes those of a changed account. While
 * signals may be missed, every request asks the database, so that a revoked key is refused at once. If the database
 * doesn't respond either, the cached caller is trusted, and catalog reads work during an outage.
 */
export function keyCache(db: Db, signals: Pick<Signals, 'on' | 'connected'>): KeyCache {
  const callers = new Map<string, Caller>()
  const byAccount = new Map<number, Set<string>>()
  // Hashes of secrets that had a cached caller, because hashing costs more than the rest of a lookup.
  const hashes = new Map<string, string>()
  // A query that began before a drop may return outdated data: its result must not be cached.
  let generation = 0

  const lookups = secretLookups(signals, 'new-keys', () => readPrefixes(db))

  const clear = () => {
    callers.clear()
    byAccount.clear()
  }

  const drop = (accountId?: number) => {
    generation++
    if (accountId === undefined) {
      clear()
      hashes.clear()
      lookups.drop()
      return
    }
    for (const hashed of byAccount.get(accountId) ?? []) callers.delete(hashed)
    byAccount.delete(accountId)
  }
  signals.on('keys', drop)

  const read = async (hashed: string): Promise<Caller | null> => {
    const startGeneration = generation
    const caller = await findCaller(db, hashed)
    if (startGeneration !== generation) return caller
    if (callers.size >= MAX_CACHED) clear()
    if (caller) {
      callers.set(hashed, caller)
      byAccount.getOrInsertComputed(caller.account.id, () => new Set()).add(hashed)
    } else callers.delete(hashed)
    return caller
  }

  /** Asks the database, and trusts the cached caller if the database is unavailable or too slow. */
  const readOrTrust = (hashed: string, cachedCaller: Caller): Promise<Caller | null> => {
    const current = read(hashed).catch((error) => {
      if (isUnavailable(error)) return cachedCaller
      throw error
    })
    return withTimeout(DATABASE_TIMEOUT_MS, current, () => cachedCaller)
  }

  return {
    find(secret, from) {
      const hashed = hashes.get(secret) ?? hashKey(secret)
      const caller = callers.get(hashed)
      if (!signals.connected) return caller ? readOrTrust(hashed, caller) : read(hashed)
      if (caller) {
        if (hashes.size >= MAX_CACHED) hashes.clear()
        hashes.set(secret, hashed)
        return caller
      }
      return lookups.lookUp(Buffer.from(hashed, 'hex'), from(), () => read(hashed))
    },

    peek(secret) {
      const hashed = hashes.get(secret)
      return hashed !== undefined && signals.connected ? callers.get(hashed) : undefined
    },

    touch(caller, now) {
      const last = caller.lastUsedAt
      if (last && now.getTime() - last.getTime() < TOUCH_INTERVAL_MS) return undefined
      caller.lastUsedAt = now
      // The write continues in the background when it takes longer.
      return withTimeout(DATABASE_TIMEOUT_MS, writeLastUse(db, caller.keyId, now), () => {})
    },

    drop,
  }
}

/** Prefixes of the hashes of all current and previous secrets. */
const readPrefixes = (db: Db) => db<{ sorted: Buffer | null }[]>`
  select string_agg(prefix, '' order by prefix) as sorted
  from (
    select substring(hash for ${PREFIX_BYTES}) as prefix from api_keys
    union all
    select substring(previous_hash for ${PREFIX_BYTES}) from api_keys
  ) hashes
  where prefix is not null
`

async function findCaller(db: Db, hashed: string): Promise<Caller | null> {
  const [row] = await db<(Omit<Caller, 'account'> & Caller['account'])[]>`
    select
      k.id as "keyId",
      case when is_former then k.previous_prefix else k.prefix end as prefix,
      k.scopes,
      k.revoked_at as "revokedAt",
      case when is_former then k.previous_expires_at end as "expiresAt",
      k.last_used_at as "lastUsedAt",
      ${callerAccountColumns(db)}
    from (
      select api_keys.*, false as is_former from api_keys where hash = decode(${hashed}, 'hex')
      union all
      select api_keys.*, true from api_keys where previous_hash = decode(${hashed}, 'hex')
    ) k
    join accounts a on a.id = k.account_id
  `
  if (!row) return null
  const { keyId, prefix, scopes, revokedAt, expiresAt, lastUsedAt, ...account } = row
  const subjects = { read: `read:${keyId}`, write: `write:${keyId}` }
  return { keyId, subjects, prefix, scopes, revokedAt, expiresAt, lastUsedAt, account }
}

/** The columns of CallerAccount, of a row `a` of `accounts`. */
export const callerAccountColumns = (db: Db) => db`
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
`

async function writeLastUse(db: Db, keyId: number, now: Date): Promise<void> {
  await db`
    update api_keys
    set last_used_at = ${now}
    where id = ${keyId} and (last_used_at is null or last_used_at < ${now})
  `
}
