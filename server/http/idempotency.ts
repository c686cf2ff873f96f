import { hash } from 'node:crypto'
import type { Context } from '../context.ts'
import { sealText, unsealText } from '../crypto/sealed.ts'
import { deleteInBatches } from '../database/batches.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { validationError } from '../errors.ts'
import { HOURS } from '../time/units.ts'
import { sendStored } from './json.ts'
import { noteRepeated } from './request-transaction.ts'

/** The identity of a request. Two requests with the same caller, operation and key are one. */
export type Repeatable = {
  caller: string
  operation: string
  key: string | undefined
  /** The name of the key in messages; that of the header by default. */
  keyName?: string
  /** SHA-256 of the body's bytes, in hex; undefined without a body. */
  bodyHash: string | undefined
  /**
   * Set for a response with a secret, such as a new API key: the response is encrypted and bound to this account, or to
   * 0 without one. Otherwise the secret of a key, of which only the hash is kept, could be read in the database for a day.
   */
  sealedFor?: number
}

/** The first response to a request. */
export type StoredResponse = { status: number; body: string; repeated: boolean }

/** Lifetime of a stored response. */
const TTL_MS = 24 * HOURS

/**
 * Does the work at most once per Idempotency-Key. One transaction writes its effect and its response, so a failed request
 * can be repeated with the same key. A concurrent duplicate waits for the first commit (the primary key blocks it) and
 * gets the same response. Without a key, the work is done each time.
 *
 * @throws validation_error if the key was used with another body
 */
export async function once<C extends Context>(
  ctx: C,
  request: Repeatable,
  work: (ctx: C) => Promise<{ status: number; body: unknown }>,
): Promise<StoredResponse> {
  const { key } = request
  if (key === undefined) return firstResponse(await work(ctx))
  const keyed = { ...request, key }
  const requestHash = request.bodyHash ?? NO_BODY
  return inTransaction(ctx, async (tx) => {
    if (!(await claim(tx, keyed, requestHash))) return storedResponse(tx, keyed, requestHash)
    const response = firstResponse(await work(tx))
    await store(tx, keyed, response)
    return response
  })
}

/** Does the work as `once` does, and sends its response, first or repeated. */
export const sendOnce = async <C extends Context>(
  ctx: C,
  reply: Parameters<typeof sendStored>[0],
  request: Repeatable,
  work: Parameters<typeof once<C>>[2],
) => sendStored(reply, await once(ctx, request, work))

const NO_BODY = hash('sha256', '')

const firstResponse = ({ status, body }: { status: number; body: unknown }): StoredResponse => ({
  status,
  body: JSON.stringify(body),
  repeated: false,
})

type Keyed = Repeatable & { key: string }

/** Claims the key; false if it is in use. An expired key can be claimed again. */
async function claim(ctx: Context, request: Keyed, requestHash: string): Promise<boolean> {
  const now = ctx.now()
  const [claimed] = await ctx.db`
    insert into idempotency_keys (caller, operation, key, request_hash, created_at)
    values (
      ${request.caller}, ${request.operation}, ${request.key}, decode(${requestHash}, 'hex'), ${now}
    )
    on conflict (caller, operation, key) do update
    set request_hash = excluded.request_hash, status = null, answer = null, created_at = excluded.created_at
    where idempotency_keys.created_at <= ${new Date(now.getTime() - TTL_MS)}
    returning 1
  `
  return claimed !== undefined
}

async function store(
  { db, config }: Context,
  request: Keyed,
  { status, body }: StoredResponse,
): Promise<void> {
  const { sealedFor } = request
  const answer =
    sealedFor === undefined
      ? body
      : sealText(config, 'stored responses', sealedFor, body).toString('base64')
  await db`
    update idempotency_keys
    set status = ${status}, answer = ${answer}
    where caller = ${request.caller} and operation = ${request.operation} and key = ${request.key}
  `
}

async function storedResponse(
  { db, config }: Context,
  request: Keyed,
  requestHash: string,
): Promise<StoredResponse> {
  const [stored] = await db<{ status: number; answer: string; same: boolean }[]>`
    select status, answer, request_hash = decode(${requestHash}, 'hex') as same
    from idempotency_keys
    where caller = ${request.caller} and operation = ${request.operation} and key = ${request.key}
  `
  if (!stored?.same) {
    const { keyName = 'Idempotency-Key' } = request
    throw validationError({ [keyName]: [`This ${keyName} was used for another request.`] })
  }
  noteRepeated()
  const { sealedFor } = request
  const { status, answer } = stored
  const body =
    sealedFor === undefined
      ? answer
      : unsealText(config, 'stored responses', sealedFor, Buffer.from(answer, 'base64'))
  return { status, body, repeated: true }
}

/** Deletes expired responses. */
export const pruneIdempotencyKeys = ({ db, now }: Context): Promise<void> =>
  deleteInBatches(db, 'idempotency_keys', {
    where: db`created_at <= ${new Date(now().getTime() - TTL_MS)}`,
    orderBy: 'created_at',
  })
