import { hash } from 'node:crypto'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Db } from '../database/sql.ts'
import { validationError } from '../errors.ts'

/** A request that its sender may repeat: who sent it, what for, and the key that makes it one and the same. */
export type Repeatable = {
  caller: string
  operation: string
  key: string | undefined
  /** SHA-256 of the body's bytes, in hex; undefined without a body. */
  bodyHash: string | undefined
}

/** An answer as it was given the first time, body included. */
export type StoredAnswer = { status: number; body: string; repeated: boolean }

/** For how long the first answer is given again. */
const KEPT_MS = 24 * 60 * 60 * 1000

/**
 * Does the work once per Idempotency-Key. Its effect and its answer are written in one transaction, so either
 * both are there or neither: a request that failed can be sent again with the same key. A twin that arrives
 * meanwhile waits for the first one's commit (the primary key holds it) and gets the same answer. Without a key
 * the work is simply done.
 *
 * @throws validation_error when the key was used for another body
 */
export async function once<C extends Context>(
  ctx: C,
  request: Repeatable,
  work: (ctx: C) => Promise<{ status: number; body: unknown }>,
): Promise<StoredAnswer> {
  const { key } = request
  if (key === undefined) return firstAnswer(await work(ctx))
  const keyed = { ...request, key }
  const requestHash = request.bodyHash ?? NO_BODY
  return inTransaction(ctx, async (tx) => {
    if (!(await claim(tx, keyed, requestHash))) return storedAnswer(tx.db, keyed, requestHash)
    const answer = firstAnswer(await work(tx))
    await keep(tx.db, keyed, answer)
    return answer
  })
}

const NO_BODY = hash('sha256', '')

const firstAnswer = ({ status, body }: { status: number; body: unknown }): StoredAnswer => ({
  status,
  body: JSON.stringify(body),
  repeated: false,
})

type Keyed = Repeatable & { key: string }

/** Takes the key, or finds it taken. One that is a day old is free again. */
async function claim(ctx: Context, request: Keyed, requestHash: string): Promise<boolean> {
  const now = ctx.now()
  const [claimed] = await ctx.db`
    insert into idempotency_keys (caller, operation, key, request_hash, created_at)
    values (
      ${request.caller}, ${request.operation}, ${request.key}, decode(${requestHash}, 'hex'), ${now}
    )
    on conflict (caller, operation, key) do update
    set request_hash = excluded.request_hash, status = null, answer = null, created_at = excluded.created_at
    where idempotency_keys.created_at <= ${new Date(now.getTime() - KEPT_MS)}
    returning 1
  `
  return claimed !== undefined
}

async function keep(db: Db, request: Keyed, answer: StoredAnswer): Promise<void> {
  await db`
    update idempotency_keys
    set status = ${answer.status}, answer = ${answer.body}
    where caller = ${request.caller} and operation = ${request.operation} and key = ${request.key}
  `
}

async function storedAnswer(db: Db, request: Keyed, requestHash: string): Promise<StoredAnswer> {
  const [stored] = await db<{ status: number; answer: string; same: boolean }[]>`
    select status, answer, request_hash = decode(${requestHash}, 'hex') as same
    from idempotency_keys
    where caller = ${request.caller} and operation = ${request.operation} and key = ${request.key}
  `
  if (!stored?.same) {
    throw validationError({
      'Idempotency-Key': ['This Idempotency-Key was used for another request.'],
    })
  }
  return { status: stored.status, body: stored.answer, repeated: true }
}

/** Forgets the answers that are no longer given. */
export async function pruneIdempotencyKeys(ctx: Context): Promise<void> {
  await ctx.db`
    delete from idempotency_keys where created_at <= ${new Date(ctx.now().getTime() - KEPT_MS)}
  `
}
