import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import { memberOf, requirePageMember, type SignedInMember } from '../../members/sessions.ts'
import type { Service } from '../../service.ts'
import { refusalOf, showLimit, tooMany } from '../authenticate.ts'
import { foreignOrigin } from '../own-origin.ts'
import { sessionToken } from '../session-cookie.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The member who is signed in. Set on every route of the dashboard's API. */
    member: SignedInMember
  }
}

/**
 * An onRequest hook for every route of the dashboard's API: the origin of a write (403), the session (401), the member's
 * limit (429) and the member whom the page was loaded for (409), in this order.
 */
export const guardDashboard =
  (ctx: Service) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const foreign = foreignOrigin(request, ctx.config)
    if (foreign) throw foreign
    const member = await memberIn(ctx, request)
    if (!member) throw await refusalOf(ctx, request, reply, signInFirst())
    const kind = request.method === 'GET' || request.method === 'HEAD' ? 'read' : 'write'
    const limit = await ctx.limiter.count(`${kind}:member:${member.id}`, ctx.config.rateLimit[kind])
    showLimit(reply, limit)
    if (limit.exceeded) throw tooMany(ctx, kind, limit)
    requirePageMember(member, pageMember(request))
    request.member = member
    request.databaseTime.accountId = member.accountId
  }

/**
 * Checks again that the member of a request is signed in.
 *
 * @throws authentication_error if the session has ended meanwhile
 */
export const recheckDashboard =
  (ctx: Service) =>
  async (request: FastifyRequest): Promise<void> => {
    if (!(await memberIn(ctx, request))) throw signInFirst()
  }

async function memberIn(ctx: Service, request: FastifyRequest): Promise<SignedInMember | null> {
  const token = sessionToken(request, ctx.config)
  return token === undefined ? null : memberOf(ctx, token)
}

/**
 * The id of the member whom the page of a request was loaded for, if the request names it: in a header, or in a parameter
 * of a link to a file.
 */
function pageMember({ headers, query }: FastifyRequest): unknown {
  return headers['x-member'] ?? (query as { member?: string }).member
}

const signInFirst = () =>
  new ApiError('authentication_error', 'Sign in to continue.', {
    headers: { 'www-authenticate': 'Cookie' },
  })
