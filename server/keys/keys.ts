import { accountNotFound } from '../accounts/account.ts'
import { keysPage } from '../accounts/dashboard-pages.ts'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Db } from '../database/sql.ts'
import { conflict, notFound } from '../errors.ts'
import type { NewMail } from '../mail/mail.ts'
import { sendMail } from '../mail/outbox.ts'
import { addNotice, withdrawNotice } from '../notices/notices.ts'
import { timestamp } from '../time/timestamp.ts'
import { generateKey, hashKey, prefixOf, ROTATION_GRACE_MS } from './api-key.ts'
import { createdEmail, revokedEmail, rotatedEmail, type Seller } from './emails.ts'
import type { Scope } from './scopes.ts'

/** Keys of an account that aren't revoked: each has its own rate limits. An account that had more keeps them. */
const MAX_KEYS = 100
/** Revoked keys in a list. */
const MAX_REVOKED = 100

/** A key without its secret, of which only the hash is stored. */
export type ApiKey = {
  id: number
  name: string | null
  prefix: string
  scopes: Scope[]
  createdAt: Date
  lastUsedAt: Date | null
  revokedAt: Date | null
  /** End of the grace period of the secret before the last rotation, also if it is over. */
  graceEndsAt: Date | null
}

/** A key with its secret, which is shown only in this response. */
export type NewSecret = { key: ApiKey; secret: string }

/**
 * Creates a key for the account, and e-mails the seller, because a program with the key acts for the shop.
 *
 * @param options.isAnnounced false for the demo seller's key: without an e-mail, and without the limit, which would fail a
 *   start
 * @throws not_found if the account does not exist, conflict if it is closed or has 100 keys
 */
export async function createKey(
  ctx: Context,
  accountId: number,
  input: { scopes: readonly Scope[]; name?: string | null },
  { isAnnounced = true }: { isAnnounced?: boolean } = {},
): Promise<NewSecret> {
  const secret = generateKey()
  const key = await inTransaction(ctx, async (tx) => {
    const { db, now, signal } = tx
    await lockOpenAccount(db, accountId)
    if (isAnnounced) await requireFewKeys(db, accountId)
    const [created] = await db<ApiKey[]>`
      insert into api_keys (account_id, name, prefix, hash, scopes, created_at)
      values (
        ${accountId},
        ${input.name ?? null},
        ${prefixOf(secret)},
        decode(${hashKey(secret)}, 'hex'),
        ${[...new Set(input.scopes)]}::text[],
        ${now()}
      )
      returning ${keyColumns(db)}
    `
    await signal('new-keys')
    if (isAnnounced) await announce(tx, accountId, (to) => createdEmail(to, created!))
    return created!
  })
  return { key, secret }
}

/**
 * Locks an account, so that `closeAccount` waits for the key, and concurrent creations count each other's keys.
 *
 * @throws not_found, conflict if it is closed
 */
export async function lockOpenAccount(db: Db, accountId: number): Promise<void> {
  const [account] = await db<{ closedAt: Date | null }[]>`
    select closed_at as "closedAt" from accounts where id = ${accountId} for no key update
  `
  if (!account) throw accountNotFound()
  if (account.closedAt) {
    throw conflict('The account is closed. It opens again when its API access is enabled.')
  }
}

async function requireFewKeys(db: Db, accountId: number): Promise<void> {
  const [{ count } = { count: 0 }] = await db<{ count: number }[]>`
    select count(*) as count from api_keys where account_id = ${accountId} and revoked_at is null
  `
  if (count >= MAX_KEYS) {
    throw conflict(`The account has ${count} API keys already: revoke one of them first.`)
  }
}

/**
 * Lists the account's keys and the newest 100 revoked ones, oldest first.
 *
 * @throws not_found if the account does not exist
 */
export async function listKeys(ctx: Context, accountId: number): Promise<ApiKey[]> {
  const [account] = await ctx.db`select 1 from accounts where id = ${accountId}`
  if (!account) throw accountNotFound()
  return ctx.db<ApiKey[]>`
    select ${keyColumns(ctx.db)}
    from api_keys
    where account_id = ${accountId} and revoked_at is null
    union all
    (
      select ${keyColumns(ctx.db)}
      from api_keys
      where account_id = ${accountId} and revoked_at is not null
      order by id desc
      limit ${MAX_REVOKED}
    )
    order by id
  `
}

/** A key of the account. */
export async function findKey(
  { db }: Context,
  accountId: number,
  keyId: number,
): Promise<ApiKey | undefined> {
  const [key] = await db<ApiKey[]>`
    select ${keyColumns(db)} from api_keys where id = ${keyId} and account_id = ${accountId}
  `
  return key
}

/**
 * Gives the key a new secret. The previous one remains valid for 24 hours of the context's clock (§5.3); the one before
 * it becomes invalid now.
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
  const key = await inTransaction(ctx, async (tx) => {
    const { db, signal } = tx
    const [rotated] = await db<ApiKey[]>`
      update api_keys
      set
        previous_prefix = prefix,
        previous_hash = hash,
        previous_expires_at = ${graceEnds},
        prefix = ${prefixOf(secret)},
        hash = decode(${hashKey(secret)}, 'hex')
      where id = ${keyId} and account_id = ${accountId} and revoked_at is null
      returning ${keyColumns(db)}
    `
    if (!rotated) {
      const [revoked] = await db`
        select 1 from api_keys where id = ${keyId} and account_id = ${accountId}
      `
      throw revoked ? conflict('A revoked key cannot be rotated.') : keyNotFound()
    }
    const { name, prefix } = rotated
    const facts = { name, prefix, previous_expires_at: timestamp(graceEnds) }
    await addNotice(tx, accountId, 'key_rotated', keyId, facts)
    await signal('keys', accountId)
    await signal('new-keys')
    await announce(tx, accountId, (to) => rotatedEmail(to, rotated))
    return rotated
  })
  return { key, secret }
}

/**
 * Revokes the key and its previous secret at once. Revoking it again changes nothing.
 *
 * @throws not_found for another account's key
 */
export async function revokeKey(ctx: Context, accountId: number, keyId: number): Promise<void> {
  await inTransaction(ctx, async (tx) => {
    const { db, now, signal } = tx
    const [revoked] = await db<ApiKey[]>`
      update api_keys
      set revoked_at = ${now()}
      where id = ${keyId} and account_id = ${accountId} and revoked_at is null
      returning ${keyColumns(db)}
    `
    if (revoked) {
      await signal('keys', accountId)
      // The notice says how long the former secret works.
      await withdrawNotice(tx, accountId, 'key_rotated', keyId)
      await announce(tx, accountId, (to) => revokedEmail(to, revoked))
      return
    }
    const [known] = await db`
      select 1 from api_keys where id = ${keyId} and account_id = ${accountId}
    `
    if (!known) throw keyNotFound()
  })
}

/** E-mails the seller about a key, in the transaction of its change. */
async function announce(
  tx: Context,
  accountId: number,
  emailTo: (seller: Seller) => NewMail,
): Promise<void> {
  const [account] = await tx.db<{ email: string; shopName: string }[]>`
    select email, shop_name as "shopName" from accounts where id = ${accountId}
  `
  await sendMail(tx, emailTo({ ...account!, keysUrl: keysPage(tx) }))
}

const keyNotFound = () => notFound('There is no such API key.')

const keyColumns = (db: Db) => db`
  id,
  name,
  prefix,
  scopes,
  created_at as "createdAt",
  last_used_at as "lastUsedAt",
  revoked_at as "revokedAt",
  previous_expires_at as "graceEndsAt"
`
