import { hash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { ApiError } from '../errors.ts'
import { addressSubject } from '../limits/address.ts'
import { countNetworks, type RateLimit } from '../limits/rate-limit.ts'
import type { Service } from '../service.ts'
import { canonicalAddress } from '../text/mailbox.ts'
import { tooMany } from './authenticate.ts'

const MINUTE_S = 60
const HOUR_S = 60 * MINUTE_S

/** Failed attempts at a password per client address and minute, and per e-mail address and hour. */
const MAX_FAILURES = 5
const MAX_FAILURES_OF_EMAIL = 10
/** Attempts per client address and minute, successful ones included: each takes a tenth of a second of CPU time. */
const MAX_ATTEMPTS = 60
/** Requests for a new password per client address and hour, and per e-mail address and hour. */
const MAX_RESETS = 3
/** Links to a new address per member and hour, and per e-mail address and hour: a member may enter anybody's address. */
const MAX_EMAIL_CHANGES = 5
const MAX_LINKS_TO_EMAIL = 3

/**
 * Limits attempts at a password. An attempt is counted before it is made, so that parallel attempts count as well; the
 * count of a successful one is taken back.
 *
 * @throws rate_limited, whether or not the address belongs to a member; the errors of `attempt`
 */
export async function limitAttempts<T>(
  ctx: Service,
  request: FastifyRequest,
  email: string,
  attempt: () => Promise<T>,
): Promise<T> {
  const count = (kind: string, limit: number, by = 1) =>
    countNetworks(ctx.limiter, kind, request.ip, { limit, seconds: MINUTE_S, by })
  const all = await count('sign-ins', MAX_ATTEMPTS)
  if (all.exceeded) throw tooManyAttempts(ctx, all)
  const countAddress = (by: number) => count('sign-in', MAX_FAILURES, by)
  const countEmail = (by: number) =>
    ctx.limiter.count(`sign-in:${subjectOf(email)}`, MAX_FAILURES_OF_EMAIL, HOUR_S, by)
  const takeBack = () => Promise.all([countAddress(-1), countEmail(-1)])
  for (const count of [countAddress, countEmail]) {
    const limit = await count(1)
    if (limit.exceeded) throw tooManyAttempts(ctx, limit)
  }
  try {
    const result = await attempt()
    await takeBack()
    return result
  } catch (error) {
    // A request that fails for a reason other than the password reveals nothing about the password.
    const isWrong = error instanceof ApiError && error.status < 500
    if (!isWrong) await takeBack()
    throw error
  }
}

/**
 * Limits requests for a new password.
 *
 * @returns whether the e-mail may be sent; if not, the response stays the same
 * @throws rate_limited for too many requests of this client address
 */
export async function limitResets(
  ctx: Service,
  request: FastifyRequest,
  email: string,
): Promise<boolean> {
  const from = await ctx.limiter.count(`reset:${addressSubject(request.ip)}`, MAX_RESETS, HOUR_S)
  if (from.exceeded) throw tooManyAttempts(ctx, from)
  const to = await ctx.limiter.count(`reset:${subjectOf(email)}`, MAX_RESETS, HOUR_S)
  return !to.exceeded
}

/**
 * Limits changes of a member's e-mail address. The count of one that is refused or fails, such as with a wrong password, is
 * taken back.
 *
 * @throws rate_limited, whether or not the address belongs to another member; the errors of `request`
 */
export async function limitEmailChanges<T>(
  ctx: Service,
  memberId: number,
  email: string,
  request: () => Promise<T>,
): Promise<T> {
  const counters: [string, number][] = [
    [`email-change:${memberId}`, MAX_EMAIL_CHANGES],
    [`email-change:${subjectOf(email)}`, MAX_LINKS_TO_EMAIL],
  ]
  const counted: typeof counters = []
  try {
    for (const [subject, max] of counters) {
      const limit = await ctx.limiter.count(subject, max, HOUR_S)
      counted.push([subject, max])
      if (limit.exceeded) throw tooManyAttempts(ctx, limit)
    }
    return await request()
  } catch (error) {
    await Promise.all(counted.map(([subject, max]) => ctx.limiter.count(subject, max, HOUR_S, -1)))
    throw error
  }
}

/**
 * A hash of an e-mail address, which may be long and must not appear in a counter's name. It is the same for every
 * spelling that signs in to one address.
 */
const subjectOf = (email: string) => hash('sha256', canonicalAddress(email.trim()), 'base64url')

function tooManyAttempts(ctx: Service, limit: RateLimit): ApiError {
  const minutes = Math.ceil(limit.retryAfter / MINUTE_S)
  const wait = minutes <= 1 ? 'a minute' : `${minutes} minutes`
  return tooMany(ctx, 'authentication', limit, 'Too many attempts.', wait)
}
