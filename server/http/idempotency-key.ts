import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { validationError } from '../errors.ts'
import type { OperatorCaller } from './authenticate-operator.ts'
import type { Repeatable } from './idempotency.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** SHA-256 of the body's bytes in hex. Set only if the request has an Idempotency-Key. */
    bodyHash: string | undefined
  }
}

/** Longest Idempotency-Key. */
export const MAX_KEY_LENGTH = 255

/** The characters of an Idempotency-Key: printable ASCII. */
export const PRINTABLE = /^[ -~]+$/

/** The schema of the header, for operations that support it. */
export const idempotencyKeyHeader = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      description:
        'Makes it safe to repeat this request for 24 hours. 1 to 255 printable ASCII characters that no other program of the shop or the marketplace sends, such as a UUID',
    }),
  ),
})

/**
 * Identifies a request for `once`.
 *
 * @throws validation_error for an Idempotency-Key that is not 1 to 255 printable ASCII characters
 */
export const repeatable = (
  request: FastifyRequest,
  caller: string,
  operation: string,
): Repeatable => ({ caller, operation, key: keyOf(request), bodyHash: request.bodyHash })

/** As `repeatable`, for a response with a secret: it is encrypted, and repeated to the same API key only. */
export const secretForKey = (request: FastifyRequest, operation: string): Repeatable => ({
  ...repeatable(request, `key ${request.caller.keyId}`, operation),
  sealedFor: request.caller.account.id,
})

/** As `repeatable`, for a response with a secret: it is encrypted, and repeated to the same member only. */
export const secretForMember = (request: FastifyRequest, operation: string): Repeatable => ({
  ...repeatable(request, `member ${request.member.id}`, operation),
  sealedFor: request.member.accountId,
})

/**
 * As `repeatable`, for a response with a secret: it is encrypted, and repeated to the same token only.
 *
 * @param accountId the account that the secret belongs to; 0 for the marketplace's own
 */
export const secretForOperator = (
  request: FastifyRequest,
  operation: string,
  accountId: number,
): Repeatable => ({
  ...repeatable(request, operatorName(request.operator), operation),
  sealedFor: accountId,
})

const operatorName = ({ staffId }: OperatorCaller) =>
  staffId === null ? 'operator' : `staff ${staffId}`

/** Whether the request has an Idempotency-Key and its operation supports one, so that it can be repeated. */
export const isKeyed = ({ headers, routeOptions }: FastifyRequest): boolean =>
  headers['idempotency-key'] !== undefined && routeOptions.schema?.headers === idempotencyKeyHeader

function keyOf(request: FastifyRequest): string | undefined {
  const header = request.headers['idempotency-key']
  if (header === undefined) return undefined
  const key = String(header)
  if (key.length > MAX_KEY_LENGTH || !PRINTABLE.test(key)) {
    throw validationError({
      'Idempotency-Key': [
        `The Idempotency-Key must be 1 to ${MAX_KEY_LENGTH} printable ASCII characters.`,
      ],
    })
  }
  return key
}
