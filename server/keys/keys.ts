import { accountNotFound } from '../accounts/account.ts'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Db } from '../database/sql.ts'
import { conflict, notFound } from '../errors.ts'
import { generateKey, hashKey, prefixOf, ROTATION_GRACE_MS } from './api-key.ts'
import type { Scope } from './scopes.ts'

/** A key as its owner and the operator see it. The secret is not part of it: only its hash is stored. */
export type ApiKey = {
  id: number
  name: string | null
  prefix: string
  scopes: Scope[]
  createdAt: Date
  lastUsedAt: Date | null
  revokedAt: Date | null
}

/** A key and its secret, which is known in this answer and nowhere else. */
export type NewSecret = { key: ApiKey; secret: string }

/**
 * Makes a key for the account.
 *
 * @throws not_found without such an account
 */
export async function createKey(
  ctx: Context,
  accountId: number,
  wanted: { scopes: readonly Scope[]; name?: string | null },
): Promise<NewSecret> {
  const secret = generateKey()
  const key = await inTransaction(ctx, async ({ db, now, signal }) => {
    const [made] = await db<ApiKey[]>`
      insert into api_keys (account_id, name, prefix, hash, scopes, created_at)
      select
        id,
        ${wanted.name ?? null},
        ${prefixOf(secret)},
        decode(${hashKey(secret)}, 'hex'),
        ${[...new Set(wanted.scopes)]}::text[],
        ${now()}
      from accounts
      where id = ${accountId}
      returning ${shown(db)}
    `
    if (!made) throw accountNotFound()
    await signal('new-keys')
    return made
  })
  return { key, secret }
}

/**
 * The account's keys, oldest first, revoked ones among them.
 *
 * @throws not_found without such an account
 */
export async function listKeys(ctx: Context, accountId: number): Promise<ApiKey[]> {
  const [account] = await ctx.db`select 1 from accounts where id = ${accountId}`
  if (!account) throw accountNotFound()
  return ctx.db<ApiKey[]>`
    select ${shown(ctx.db)} from api_keys where account_id = ${accountId} order by id
  `
}

/**
 * Gives the key a new secret. The one before stays good for 24 hours of the context's clock (§5.3); one that
 * was still in the grace of an earlier rotation ends now.
 *
 * @throws not_found for another account's key, conflict for a revoked one
 */
export async function rotateKey(
  ctx: Context,
  accountId: number,
  keyId: number,
): Promise<NewSecret> {
  const secret = generateKey()
  const graceEnds = new Date(ctx.now().getTime() + ROTATION_GRACE_MS)
  const key = await inTransaction(ctx, async ({ db, signal }) => {
    const [rotated] = await db<ApiKey[]>`
      update api_keys
      set
        previous_prefix = prefix,
        previous_hash = hash,
        previous_expires_at = ${graceEnds},
        prefix = ${prefixOf(secret)},
        hash = decode(${hashKey(secret)}, 'hex')
      where id = ${keyId} and account_id = ${accountId} and revoked_at is null
      returning ${shown(db)}
    `
    if (!rotated) {
      const [revoked] = await db`
        select 1 from api_keys where id = ${keyId} and account_id = ${accountId}
      `
      throw revoked ? conflict('A revoked key cannot be rotated.') : keyNotFound()
    }
    await signal('keys')
    return rotated
  })
  return { key, secret }
}

/**
 * Ends the key at once, with the secret of an earlier rotation if that was still good. Revoking twice changes nothing.
 *
 * @throws not_found for another account's key
 */
export async function revokeKey(ctx: Context, accountId: number, keyId: number): Promise<void> {
  await inTransaction(ctx, async ({ db, now, signal }) => {
    const revoked = await db`
      update api_keys
      set revoked_at = coalesce(revoked_at, ${now()})
      where id = ${keyId} and account_id = ${accountId}
    `
    if (revoked.count === 0) throw keyNotFound()
    await signal('keys')
  })
}

const keyNotFound = () => notFound('There is no such API key.')

const shown = (db: Db) => db`
  id,
  name,
  prefix,
  scopes,
  created_at as "createdAt",
  last_used_at as "lastUsedAt",
  revoked_at as "revokedAt"
`
