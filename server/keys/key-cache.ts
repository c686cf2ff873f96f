import type { Signals } from '../database/signals.ts'
import type { Db } from '../database/sql.ts'
import { isUnavailable } from '../database/unavailable.ts'
import type { ApiAccess, SellerTier } from '../enums.ts'
import { memoryCounters } from '../limits/counters.ts'
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
  /**
   * The caller that a secret belongs to, null for none. At once when it is known already.
   *
   * @param from the subject that an unknown secret counts for
   */
  find(secret: string, from: () => string): Caller | null | Promise<Caller | null>
  /** Notes that the key is in use, in the database at most once a minute. */
  touch(caller: Caller, now: Date): undefined | Promise<void>
  /** Forgets everything: a key or an account has changed. */
  drop(): void
}

const TOUCH_INTERVAL_MS = 60_000
const MAX_CACHED = 50_000

/** A request with a remembered key waits no longer for a database that may be away. */
const DATABASE_TIMEOUT_MS = 1_000

/** Lookups in a minute that unknown secrets from one subject cause at most: as many as it may fail. */
const MAX_LOOKUPS = 600
const LOOKUP_WINDOW_MS = 60_000

/**
 * Remembers callers, so that a request needs no query. What another process changes is dropped when its notice
 * arrives; while notices may be missed the database is asked each time, so a revoked key is refused at once. Only when
 * the database doesn't answer either is what is remembered trusted: then catalog reads work through an outage.
 *
 * A client that tries keys costs no query either, after its first few hundred in a minute: then only secrets are looked
 * up whose hash begins like that of some key, which nobody finds by trying. The beginnings of all hashes are read with
 * one query. Until then they aren't needed, and a key that another process has just made works at once.
 */
export function keyCache(db: Db, signals: Pick<Signals, 'on' | 'connected'>): KeyCache {
  const remembered = new Map<string, Caller>()
  // A query that began before a drop may bring what was true before it: its result must not be kept.
  let generation = 0

  let beginnings: Promise<HashBeginnings> | undefined
  const lookups = memoryCounters()

  const drop = () => {
    generation++
    remembered.clear()
    beginnings = undefined
  }
  signals.on('keys', drop)
  signals.on('new-keys', () => {
    beginnings = undefined
  })

  const read = async (hashed: string): Promise<Caller | null> => {
    const began = generation
    const caller = await findCaller(db, hashed)
    if (began !== generation) return caller
    if (remembered.size >= MAX_CACHED) remembered.clear()
    if (caller) remembered.set(hashed, caller)
    else remembered.delete(hashed)
    return caller
  }

  const readIfLikely = async (hashed: string): Promise<Caller | null> => {
    beginnings ??= readBeginnings(db)
    const reading = beginnings
    try {
      return (await reading).include(hashed) ? await read(hashed) : null
    } catch (error) {
      if (beginnings === reading) beginnings = undefined
      throw error
    }
  }

  /** Asks the database, and trusts the remembered caller if the database is away or does not answer within a second. */
  const readOrTrust = async (hashed: string, known: Caller): Promise<Caller | null> => {
    const { promise: patience, resolve } = Promise.withResolvers<Caller>()
    const timer = setTimeout(resolve, DATABASE_TIMEOUT_MS, known)
    const answer = read(hashed).catch((error) => {
      if (isUnavailable(error)) return known
      throw error
    })
    try {
      return await Promise.race([answer, patience])
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    find(secret, from) {
      const hashed = hashKey(secret)
      const known = remembered.get(hashed)
      if (!signals.connected) return known ? readOrTrust(hashed, known) : read(hashed)
      if (known) return known
      const window = Math.floor(performance.now() / LOOKUP_WINDOW_MS)
      return lookups.hit(from(), window) > MAX_LOOKUPS ? readIfLikely(hashed) : read(hashed)
    },

    touch(caller, now) {
      const last = caller.lastUsedAt
      if (last && now.getTime() - last.getTime() < TOUCH_INTERVAL_MS) return undefined
      caller.lastUsedAt = now
      return atMost(DATABASE_TIMEOUT_MS, writeUse(db, caller.keyId, now))
    },

    drop,
  }
}

/** The beginnings of the hashes of all secrets, current and former. */
type HashBeginnings = { include(hashed: string): boolean }

const BEGINNING_BYTES = 8

async function readBeginnings(db: Db): Promise<HashBeginnings> {
  const [row] = await db<{ sorted: Buffer | null }[]>`
    select string_agg(beginning, '' order by beginning) as sorted
    from (
      select substring(hash for ${BEGINNING_BYTES}) as beginning from api_keys
      union all
      select substring(previous_hash for ${BEGINNING_BYTES}) from api_keys
    ) hashes
    where beginning is not null
  `
  const sorted = row?.sorted ?? Buffer.alloc(0)
  return {
    include(hashed) {
      const wanted = Buffer.from(hashed.slice(0, 2 * BEGINNING_BYTES), 'hex')
      let [low, high] = [0, sorted.length / BEGINNING_BYTES]
      while (low < high) {
        const middle = (low + high) >>> 1
        const at = middle * BEGINNING_BYTES
        const order = wanted.compare(sorted, at, at + BEGINNING_BYTES)
        if (order === 0) return true
        if (order < 0) high = middle
        else low = middle + 1
      }
      return false
    },
  }
}

/** Waits for work that goes on without us when it takes longer. */
async function atMost(ms: number, work: Promise<void>): Promise<void> {
  const { promise: patience, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  try {
    await Promise.race([work, patience])
  } finally {
    clearTimeout(timer)
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
