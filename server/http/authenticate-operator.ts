import { hash, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { authenticationError } from '../errors.ts'
import { addressSubject } from '../limits/address.ts'
import type { Service } from '../service.ts'
import { type StaffRole, staffOf } from '../staff/staff.ts'
import { bearerOf, type Done, refuse, withValue } from './authenticate.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller of the operator API. Set on each of its routes. */
    operator: OperatorCaller
  }
}

/** A staff member, or the owner of the operator token, who has no id. */
export type OperatorCaller = { staffId: number | null; name: string; role: StaffRole }

const ROOT: OperatorCaller = { staffId: null, name: 'operator', role: 'admin' }

/** Checks the operator token or a staff token, and sets `request.operator`. */
export function authenticateOperator(ctx: Service) {
  const isRoot = isOperatorToken(ctx)
  return (request: FastifyRequest, reply: FastifyReply, done: Done): void => {
    const token = bearerOf(request.headers)
    if (token === undefined) {
      refuse(ctx, request, reply, done, NO_TOKEN)
      return
    }
    withValue(isRoot(token) ? ROOT : callerOf(ctx, token, request), done, (caller) => {
      if (caller) {
        request.operator = caller
        done()
      } else {
        refuse(ctx, request, reply, done, WRONG_TOKEN)
      }
    })
  }
}

/**
 * Checks again that the staff token of a request works.
 *
 * @throws authentication_error if it was revoked meanwhile
 */
export const recheckOperator =
  (ctx: Service) =>
  async (request: FastifyRequest): Promise<void> => {
    if (request.operator.staffId === null) return
    const caller = await callerOf(ctx, bearerOf(request.headers)!, request)
    if (!caller) throw authenticationError(WRONG_TOKEN)
  }

/** Checks the operator token. Staff tokens are refused. */
export function authenticateRoot(ctx: Service) {
  const isRoot = isOperatorToken(ctx)
  return (request: FastifyRequest, reply: FastifyReply, done: Done): void => {
    const token = bearerOf(request.headers)
    if (token !== undefined && isRoot(token)) done()
    else refuse(ctx, request, reply, done, token === undefined ? NO_TOKEN : WRONG_TOKEN)
  }
}

/** Compares hashes, so that the comparison takes the same time for any token. */
function isOperatorToken({ config }: Service): (token: string) => boolean {
  const expected = hash('sha256', config.operatorToken ?? '', 'buffer')
  return (token) => timingSafeEqual(hash('sha256', token, 'buffer'), expected)
}

async function callerOf(
  ctx: Service,
  token: string,
  { ip }: FastifyRequest,
): Promise<OperatorCaller | undefined> {
  const member = await staffOf(ctx, token, addressSubject(ip))
  return member ? { staffId: member.id, name: member.name, role: member.role } : undefined
}

const NO_TOKEN = 'No operator token was sent. Send it as "Authorization: Bearer <token>".'
const WRONG_TOKEN = 'The operator token or staff token is wrong, or was revoked.'
