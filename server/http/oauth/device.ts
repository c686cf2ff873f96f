import type { FastifyReply, FastifyRequest } from 'fastify'
import { notFound } from '../../errors.ts'
import { SCOPES } from '../../keys/scopes.ts'
import type { SignedInMember } from '../../members/sessions.ts'
import { COMMAND_LINE } from '../../oauth/clients.ts'
import {
  DEVICE_SECONDS,
  decideDevice,
  findDevice,
  POLL_SECONDS,
  startDevice,
} from '../../oauth/devices.ts'
import { OAuthError } from '../../oauth/oauth-error.ts'
import { requireScopes, toolsAudience } from '../../oauth/resources.ts'
import type { Service } from '../../service.ts'
import { tooMany } from '../authenticate.ts'
import { html } from '../html.ts'
import { rootOf } from '../page.ts'
import type { Query } from '../query.ts'
import { fieldsOf } from '../sign-in/forms.ts'
import { problem, sendForm } from '../sign-in/layout.ts'
import {
  checkedScopes,
  consentProblem,
  decisionButtons,
  type Rejected,
  requireMember,
  scopeFields,
  shopOf,
  signedInAs,
} from './consent.ts'
import { limitRequests, readForm } from './endpoint.ts'
import { requireParameter } from './parameters.ts'

/** Codes that a member may try in a window; far fewer than it takes to guess one. */
const MAX_TRIES = 20
const TRIES_SECONDS = 10 * 60

/**
 * `/oauth/device`: the command line begins to sign in (RFC 8628). `/device`: a member types its code, and allows or
 * refuses it.
 */
export function deviceHandlers(ctx: Service) {
  async function tryCode(member: SignedInMember, userCode: string) {
    const subject = `device-code:member:${member.id}`
    const limit = await ctx.limiter.count(subject, MAX_TRIES, TRIES_SECONDS)
    if (limit.exceeded) throw tooMany(ctx, 'authentication', limit, 'Too many codes.')
    return findDevice(ctx, userCode)
  }

  async function sendConsent(
    request: FastifyRequest,
    reply: FastifyReply,
    member: SignedInMember,
    userCode: string,
    rejected?: Rejected,
  ) {
    const device = await tryCode(member, userCode)
    if (!device) return sendCodeForm(request, reply.code(422), UNKNOWN)
    const shop = await shopOf(ctx, member)
    const refusal = consentProblem(shop.apiAccess)
    return sendForm(request, reply, {
      title: `Allow the command line?`,
      main: html`${problem(rejected?.message)}
<p>A terminal that shows the code <strong class="code">${device.userCode}</strong> wants an API key of your shop <strong>${shop.name}</strong>.</p>
<p class="problem">Allow it only if you have just started “cardstall login” yourself.</p>
<form method="post" action="${rootOf(request)}/device">
<input type="hidden" name="user_code" value="${device.userCode}">
${
  refusal === undefined
    ? html`${scopeFields(device.scopes, rejected?.checked)}
${decisionButtons}`
    : html`<p class="problem">${refusal}</p>
<button name="decision" value="refuse">Refuse</button>`
}
</form>
${signedInAs(ctx, request, member, `/device?user_code=${device.userCode}`)}`,
    })
  }

  return {
    async startDevice(request: FastifyRequest) {
      const parameters = readForm(request)
      if (requireParameter(parameters, 'client_id') !== COMMAND_LINE.id) {
        throw new OAuthError('unauthorized_client', 'Only the command line signs in as a device.')
      }
      const audience = toolsAudience(ctx.config)
      if ((parameters.resource ?? audience) !== audience) {
        throw new OAuthError('invalid_target', `The resource must be ${audience}.`)
      }
      const scopes = requireScopes({ audience, scopes: SCOPES }, parameters.scope)
      await limitRequests(ctx, request, 'device')
      const { deviceCode, userCode } = await startDevice(ctx, { audience, scopes })
      const page = `${ctx.config.publicUrl}/device`
      return {
        device_code: deviceCode,
        user_code: userCode,
        verification_uri: page,
        verification_uri_complete: `${page}?user_code=${userCode}`,
        expires_in: DEVICE_SECONDS,
        interval: POLL_SECONDS,
      }
    },

    async showDevice(request: FastifyRequest, reply: FastifyReply) {
      const member = await requireMember(ctx, request, reply)
      if (!member) return reply
      const { user_code: userCode } = request.query as Query
      return userCode === undefined
        ? sendCodeForm(request, reply)
        : sendConsent(request, reply, member, userCode)
    },

    async decideDevice(request: FastifyRequest, reply: FastifyReply) {
      const member = await requireMember(ctx, request, reply, '/device')
      if (!member) return reply
      const { user_code: userCode = '', ...fields } = fieldsOf(request)
      const device = await tryCode(member, userCode)
      if (!device) return sendCodeForm(request, reply.code(422), UNKNOWN)
      const { apiAccess } = await shopOf(ctx, member)
      const refusal = consentProblem(apiAccess)
      const scopes = checkedScopes(fields, device.scopes)
      const reject = (message: string) =>
        sendConsent(request, reply.code(422), member, userCode, { message, checked: scopes })
      if (fields.decision !== 'allow' && fields.decision !== 'refuse') {
        return reject('Choose Allow or Refuse.')
      }
      const isAllowed = fields.decision === 'allow' && refusal === undefined
      if (isAllowed && scopes.length === 0) {
        return reject('Choose at least one permission, or refuse.')
      }
      const decision = isAllowed ? scopes : undefined
      if (!(await decideDevice(ctx, member, userCode, decision, request.id))) {
        throw notFound('This code has already been used, or has expired.')
      }
      return sendForm(request, reply, {
        title: isAllowed ? 'The command line is signed in' : 'Refused',
        main: html`${problem(refusal)}
<p>You can close this window.</p>`,
      })
    },
  }
}

const UNKNOWN =
  'This code is unknown, has already been used, or has expired. Compare it with the one in the terminal, which says when it is signed in.'

const sendCodeForm = (request: FastifyRequest, reply: FastifyReply, message?: string) =>
  sendForm(request, reply, {
    title: 'Sign in a device',
    main: html`${problem(message)}
<form method="get" action="${rootOf(request)}/device">
<label for="user_code">Code that the terminal shows</label>
<input id="user_code" name="user_code" autocomplete="off" autocapitalize="characters" maxlength="20" required>
<button>Continue</button>
</form>`,
  })
