import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { type ApiError, authenticationError, authorizationError, rateLimited } from '../errors.ts'
import { accessProblem } from '../keys/api-access.ts'
import { looksLikeKey } from '../keys/api-key.ts'
import type { Caller } from '../keys/key-cache.ts'
import type { Scope } from '../keys/scopes.ts'
import { addressSubject } from '../limits/address.ts'
import type { RateLimit } from '../limits/rate-limit.ts'
import type { Service } from '../service.ts'
import { countEarlierWait } from './database-time.ts'
import { recheckAfterBody } from './gather-body.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The seller's key and account. Set on every route of the seller API. */
    caller: Caller
  }
  interface FastifyContextConfig {
    /** Scope that the key needs, or scopes of which it needs one; null if any active key may call the route. */
    scope?: RequiredScope
  }
}

/** Every route of the seller and tools API declares it. */
type RequiredScope = Scope | readonly Scope[] | null

export type Done = (error?: Error) => void

/** The verdict on a request with a valid key. The request is counted. */
export type Admission = { caller: Caller; limit: RateLimit; problem: ApiError | undefined }

/** Admissions of the fast lane, and when it received the request, for requests that the ordinary path completes. */
const admissions = new WeakMap<
  IncomingMessage,
  { admission: Admission | Promise<Admission>; startedAt: number }
>()

/** Maximum number of failed authentications per client address. Never affects a valid key from the same address. */
const MAX_FAILURES_PER_MINUTE = 600

/**
 * An onRoute hook that puts the guard before each seller route. A route that declares no scope fails the start,
 * because it would be open to every key.
 */
export function guardSellerRoutes(ctx: Service) {
  return (route: RouteOptions): void => {
    const scope = route.config?.scope
    if (scope === undefined) throw new Error(`${route.method} ${route.url} declares no scope`)
    route.onRequest = [route.onRequest ?? [], authenticateSeller(ctx, scope)].flat()
    recheckAfterBody(async (request) => {
      const refusal = await refusalMeanwhile(ctx, request, scope)
      if (refusal) throw refusal
    })(route)
  }
}

/**
 * Checks a seller's request: key (401), account (403), rate limit (429), scope (403), in this order. Everything about a
 * recently used key is in memory, so this path creates no promise.
 */
function authenticateSeller(ctx: Service, scope: RequiredScope) {
  return (request: FastifyRequest, reply: FastifyReply, done: Done): void => {
    const admitted = admissions.get(request.raw)
    if (admitted) {
      countEarlierWait(request, performance.now() - admitted.startedAt)
      conclude(admitted.admission, request, reply, done)
      return
    }
    const key = bearerOf(request.headers)
    if (key === undefined || !looksLikeKey(key)) {
      refuse(ctx, request, reply, done, key === undefined ? NO_KEY : UNKNOWN_KEY)
      return
    }
    withValue(
      ctx.keys.find(key, () => addressSubject(request.ip)),
      done,
      (caller) => {
        const now = ctx.now()
        const problem = caller ? keyProblem(caller, now) : UNKNOWN_KEY
        if (!caller || problem) refuse(ctx, request, reply, done, problem ?? UNKNOWN_KEY)
        else conclude(admit(ctx, caller, scope, now, request), request, reply, done)
      },
    )
  }
}

/**
 * Admits a request whose key is in memory and valid; undefined for any other, which is not counted. The caller either
 * responds, or leaves the request and its admission to the ordinary path with `admitLater`.
 */
export function admitKnown(
  ctx: Service,
  request: IncomingMessage,
  scope: Scope,
): Admission | Promise<Admission> | undefined {
  const key = bearerOf(request.headers)
  const caller = key === undefined ? undefined : ctx.keys.peek(key)
  if (!caller) return undefined
  const now = ctx.now()
  return keyProblem(caller, now) ? undefined : admit(ctx, caller, scope, now, request)
}

/**
 * Makes the ordinary path use this admission instead of counting the request a second time.
 *
 * @param startedAt the lane may have waited for the database since then, which reduces the request's time for it
 */
export function admitLater(
  request: IncomingMessage,
  admission: Admission | Promise<Admission>,
  startedAt: number,
): void {
  admissions.set(request, { admission, startedAt })
}

const NO_KEY = 'No API key was sent. Send it as "Authorization: Bearer <key>".'
const UNKNOWN_KEY = 'The API key is unknown.'
const REVOKED_KEY = 'The API key has been revoked.'
const EXPIRED_KEY = 'The API key has expired: it was rotated more than 24 hours ago.'

/** The credentials of the Authorization header, ignoring the case of its scheme. */
export function bearerOf({ authorization }: IncomingHttpHeaders): string | undefined {
  return authorization === undefined ? undefined : /^bearer +(\S+) *$/i.exec(authorization)?.[1]
}

function keyProblem(caller: Caller, now: Date): string | undefined {
  if (caller.revokedAt) return REVOKED_KEY
  if (caller.expiresAt && now >= caller.expiresAt) return EXPIRED_KEY
  return undefined
}

/**
 * The error for a long request whose key was revoked or lost its access meanwhile; undefined while the request is allowed. It
 * is not counted.
 */
export async function refusalMeanwhile(
  ctx: Service,
  request: FastifyRequest,
  scope: RequiredScope,
): Promise<ApiError | undefined> {
  const key = bearerOf(request.headers)
  const caller = key ? await ctx.keys.find(key, () => addressSubject(request.ip)) : null
  const problem = caller ? keyProblem(caller, ctx.now()) : UNKNOWN_KEY
  if (!caller || problem) return authenticationError(problem ?? UNKNOWN_KEY)
  return accessProblem(caller.account) ?? scopeProblem(caller, scope)
}

/** Counts the request (429) and checks account and scope (403). Records the use of the key, at most once a minute. */
function admit(
  ctx: Service,
  caller: Caller,
  scope: RequiredScope,
  now: Date,
  { method }: { method?: string | undefined },
): Admission | Promise<Admission> {
  const kind = method === 'GET' || method === 'HEAD' ? 'read' : 'write'
  const check = (limit: RateLimit): Admission | Promise<Admission> => {
    const problem =
      accessProblem(caller.account) ??
      (limit.exceeded ? tooMany(ctx, kind, limit) : undefined) ??
      scopeProblem(caller, scope)
    const admission = { caller, limit, problem }
    const touched = problem?.type === 'rate_limited' ? undefined : ctx.keys.touch(caller, now)
    if (!touched) return admission
    // Best effort: a failure to record the use of a key does not fail the request.
    return touched
      .catch((error) => ctx.log.warn({ err: error }, 'cannot write last_used_at'))
      .then(() => admission)
  }
  const counted = ctx.limiter.count(caller.subjects[kind], ctx.config.rateLimit[kind])
  return counted instanceof Promise ? counted.then(check) : check(counted)
}

function conclude(
  admission: Admission | Promise<Admission>,
  request: FastifyRequest,
  reply: FastifyReply,
  done: Done,
): void {
  withValue(admission, done, ({ caller, limit, problem }) => {
    showLimit(reply, limit)
    request.caller = caller
    request.databaseTime.accountId = caller.account.id
    done(problem)
  })
}

function scopeProblem({ scopes }: Caller, required: RequiredScope): ApiError | undefined {
  if (required === null) return undefined
  const accepted = typeof required === 'string' ? [required] : required
  for (const scope of accepted) if (scopes.includes(scope)) return undefined
  return authorizationError(`The API key lacks the scope ${accepted.join(' or ')}.`)
}

/** 429, counted in the metrics. */
export function tooMany(
  { metrics }: Pick<Service, 'metrics'>,
  kind: 'read' | 'write' | 'authentication',
  limit: RateLimit,
  problem = `Too many ${kind} requests: ${limit.limit} a minute are possible.`,
  wait = `${limit.retryAfter} s`,
): ApiError {
  metrics.countRateLimited(kind)
  return rateLimited(`${problem} Try again in ${wait}.`, limit)
}

/**
 * Counts further writes of a request that is as much work as several; the request itself is counted already. At most the
 * limit of a minute, so that a new minute always admits the request.
 *
 * @param subject `write:` and the id of the key, or `write:member:` and that of the member
 * @throws rate_limited; then the request must have no effect
 */
export async function countWrites(
  ctx: Service,
  reply: FastifyReply,
  subject: string,
  further: number,
): Promise<void> {
  const allowed = ctx.config.rateLimit.write
  const counted = Math.min(further, allowed - 1)
  if (counted <= 0) return
  const limit = await ctx.limiter.count(subject, allowed, undefined, counted)
  showLimit(reply, limit)
  if (limit.exceeded) throw tooMany(ctx, 'write', limit)
}

/** Sets the headers of the rate limit. */
export function showLimit(
  reply: { header(name: string, value: number): unknown },
  limit: RateLimit,
): void {
  reply.header('x-ratelimit-limit', limit.limit)
  reply.header('x-ratelimit-remaining', limit.remaining)
  reply.header('x-ratelimit-reset', limit.resetAt)
}

/** Responds with 401, or with 429 if the client address has failed too often in this minute. */
export function refuse(
  ctx: Service,
  request: FastifyRequest,
  reply: FastifyReply,
  done: Done,
  message: string,
): void {
  withValue(refusalOf(ctx, request, reply, authenticationError(message)), done, done)
}

const WRONG_CREDENTIALS = 'Too many requests with wrong credentials from this address.'

/** Counts a failed authentication. Returns its error, or 429 if the client address has failed too often in this minute. */
export function refusalOf(
  ctx: Service,
  { ip }: FastifyRequest,
  reply: FastifyReply,
  error: ApiError,
): ApiError | Promise<ApiError> {
  const refusal = (limit: RateLimit): ApiError => {
    if (!limit.exceeded) return error
    showLimit(reply, limit)
    return tooMany(ctx, 'authentication', limit, WRONG_CREDENTIALS)
  }
  const counted = ctx.limiter.count(`failed:${addressSubject(ip)}`, MAX_FAILURES_PER_MINUTE)
  return counted instanceof Promise ? counted.then(refusal) : refusal(counted)
}

/**
 * Calls `next` with a value, at once or when the promise resolves. A rejection, or an exception that `next` throws after
 * a promise, goes to `done`: otherwise it would be unhandled.
 */
export function withValue<T>(value: T | Promise<T>, done: Done, next: (value: T) => void): void {
  if (value instanceof Promise) value.then(next).catch(done)
  else next(value)
}
