import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, badRequest, notFound } from '../../errors.ts'
import type { SignedInMember } from '../../members/sessions.ts'
import { clientDocuments } from '../../oauth/client-documents.ts'
import { type Client, findClient } from '../../oauth/clients.ts'
import { OAuthError } from '../../oauth/oauth-error.ts'
import { hostOf, isLocal, isRegistered, withParameters } from '../../oauth/redirect-uri.ts'
import { requireScopes, requireToolServer } from '../../oauth/resources.ts'
import {
  type AuthorizationRequest,
  createStep,
  decideStep,
  findStep,
  waitsForAnother,
} from '../../oauth/steps.ts'
import type { Service } from '../../service.ts'
import { html } from '../html.ts'
import { rootOf } from '../page.ts'
import { fieldsOf } from '../sign-in/forms.ts'
import { problem, sendForm } from '../sign-in/layout.ts'
import {
  canReturnTo,
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
import { type Parameters, readParameters, requireParameter } from './parameters.ts'

/**
 * `/oauth/authorize`: checks the request of a program, and shows it to the member at `/oauth/step`, who allows or
 * refuses it.
 */
export function authorizationHandlers(ctx: Service) {
  const documents = clientDocuments(ctx)

  /** The response for a request that doesn't wait for the member who is signed in. */
  async function sendMissing(request: FastifyRequest, reply: FastifyReply, member: SignedInMember) {
    if (!(await waitsForAnother(ctx, member.id, uidOf(request)))) throw stepGone()
    return sendForm(request, reply.code(404), {
      title: 'That didn’t work',
      main: html`<p>Another member has opened this request, and decides it.</p>
${signedInAs(ctx, request, member)}`,
    })
  }

  return {
    async authorize(request: FastifyRequest, reply: FastifyReply) {
      await limitRequests(ctx, request, 'authorize')
      const { parameters, client, redirectUri } = await asPage(async () => {
        if (!canReturnTo(ctx, request.url)) throw badRequest(TOO_LONG)
        const parameters = readParameters(request.url.replace(/^[^?]*\??/, ''))
        const clientId = requireParameter(parameters, 'client_id')
        const client = await findClient(ctx, documents, clientId)
        const redirectUri = requireParameter(parameters, 'redirect_uri')
        if (isRegistered(client.redirectUris, redirectUri)) {
          return { parameters, client, redirectUri }
        }
        throw badRequest('The program did not register the address that it wants to go back to.')
      })
      const member = await requireMember(ctx, request, reply)
      if (!member) return reply
      try {
        const checked = checkRequest(ctx, client, redirectUri, parameters)
        // This address is longer than the request if the program did not encode every character.
        if (!canReturnTo(ctx, addressOf(checked))) throw new OAuthError('invalid_request', TOO_LONG)
        const uid = await createStep(ctx, member.id, checked)
        return reply.redirect(`${rootOf(request)}/oauth/step/${uid}`, 303)
      } catch (error) {
        if (!(error instanceof OAuthError)) throw error
        const target = wayBack(ctx, { redirectUri, state: stateOf(parameters) }, error)
        return sendError(request, reply, error, { host: hostOf(redirectUri), target })
      }
    },

    /** Receives a form of another site, which browsers send without our cookie, and continues as GET. */
    authorizeForm(request: FastifyRequest, reply: FastifyReply) {
      const query = new URLSearchParams(readForm(request))
      return reply.redirect(`${rootOf(request)}/oauth/authorize?${query}`, 303)
    },

    async showConsent(request: FastifyRequest, reply: FastifyReply) {
      const member = await requireMember(ctx, request, reply)
      if (!member) return reply
      const step = await findStep(ctx, member.id, uidOf(request))
      if (!step) return sendMissing(request, reply, member)
      const shop = await shopOf(ctx, member)
      return sendConsent(ctx, request, reply, member, { step, shop })
    },

    async decideConsent(request: FastifyRequest, reply: FastifyReply) {
      const member = await requireMember(ctx, request, reply)
      if (!member) return reply
      const step = await findStep(ctx, member.id, uidOf(request), true)
      if (!step) return sendMissing(request, reply, member)
      const fields = fieldsOf(request)
      const shop = await shopOf(ctx, member)
      const isAllowed = fields.decision === 'allow' && shop.apiAccess === 'enabled'
      const scopes = checkedScopes(fields, step.scopes)
      const message =
        fields.decision === undefined
          ? 'Choose Allow or Refuse.'
          : isAllowed && scopes.length === 0
            ? 'Choose at least one permission, or refuse.'
            : undefined
      if (message !== undefined) {
        const rejected = { message, checked: scopes }
        return sendConsent(ctx, request, reply.code(422), member, { step, shop, rejected })
      }
      const decision = isAllowed ? scopes : undefined
      const code = await decideStep(ctx, member, uidOf(request), decision, request.id)
      if (code === undefined) throw stepGone()
      const reason = shop.apiAccess === 'enabled' ? 'Refused.' : 'The shop has no API access.'
      const outcome = code ?? new OAuthError('access_denied', reason)
      return reply.redirect(wayBack(ctx, step, outcome), 303)
    },
  }
}

const TOO_LONG = 'The request is too long.'

/**
 * Turns an OAuthError into a page of this service: the browser can't go back to an address that isn't known to be safe.
 */
async function asPage<T>(check: () => Promise<T>): Promise<T> {
  try {
    return await check()
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    // A request is not wrong because the document of its program can't be fetched.
    const begin = error.code === 'invalid_client' ? '' : 'A program sent a wrong request. '
    throw new ApiError('bad_request', begin + error.message)
  }
}

/** Checks an authorization request. @throws OAuthError for the program */
function checkRequest(
  { config }: Service,
  client: Client,
  redirectUri: string,
  parameters: Parameters,
): AuthorizationRequest {
  const { code_challenge: codeChallenge = '' } = parameters
  for (const name of ['request', 'request_uri']) {
    if (name in parameters) {
      throw new OAuthError('request_not_supported', `${name} is not supported.`)
    }
  }
  if (requireParameter(parameters, 'response_type') !== 'code') {
    throw new OAuthError('unsupported_response_type', 'response_type must be code.')
  }
  if ((parameters.response_mode ?? 'query') !== 'query') {
    throw new OAuthError('invalid_request', 'response_mode must be query.')
  }
  if (parameters.code_challenge_method !== 'S256' || !/^[\w-]{43}$/.test(codeChallenge)) {
    throw new OAuthError(
      'invalid_request',
      'PKCE is required: code_challenge, and code_challenge_method=S256.',
    )
  }
  if (parameters.state !== undefined && stateOf(parameters) === null) {
    throw new OAuthError('invalid_request', 'state must be printable ASCII.')
  }
  // Consent is asked for each time.
  if (parameters.prompt === 'none') {
    throw new OAuthError('interaction_required', 'The member must decide.')
  }
  const resource = requireToolServer(config, parameters.resource)
  return {
    clientId: client.id,
    clientName: client.name,
    documentHost: client.documentHost,
    host: hostOf(redirectUri),
    redirectUri,
    state: stateOf(parameters),
    codeChallenge,
    audience: resource.audience,
    scopes: requireScopes(resource, parameters.scope),
  }
}

/** RFC 6749 appendix A.5 */
const stateOf = ({ state }: Parameters) =>
  state !== undefined && /^[\x20-\x7e]+$/.test(state) ? state : null

/** The address of the program, with a code or an error. */
const wayBack = (
  { config }: Service,
  { redirectUri, state }: { redirectUri: string; state: string | null },
  outcome: string | OAuthError,
) =>
  withParameters(redirectUri, {
    ...(outcome instanceof OAuthError
      ? { error: outcome.code, error_description: outcome.message }
      : { code: outcome }),
    state: state ?? undefined,
    iss: config.publicUrl,
  })

/**
 * Shows a wrong request to the member, who decides whether to go back to the program. A redirect would let anybody
 * publish a program whose requests lead from this service to a page of theirs (RFC 9700 §4.11.2).
 */
const sendError = (
  request: FastifyRequest,
  reply: FastifyReply,
  { message }: OAuthError,
  { host, target }: { host: string; target: string },
) =>
  sendForm(request, reply.code(400), {
    title: 'That didn’t work',
    main: html`<p>A program sent a wrong request. ${message}</p>
<p>Go back only if you have just started the program yourself.</p>
<p><a class="button" href="${target}">Go back to ${host}</a></p>`,
  })

/** The address of a request, at which another member can open it. */
const addressOf = (step: AuthorizationRequest) =>
  `/oauth/authorize?${new URLSearchParams({
    client_id: step.clientId,
    redirect_uri: step.redirectUri,
    response_type: 'code',
    code_challenge: step.codeChallenge,
    code_challenge_method: 'S256',
    resource: step.audience,
    scope: step.scopes.join(' '),
    ...(step.state !== null && { state: step.state }),
  })}`

type Shown = {
  step: AuthorizationRequest
  shop: Awaited<ReturnType<typeof shopOf>>
  rejected?: Rejected
}

function sendConsent(
  ctx: Service,
  request: FastifyRequest,
  reply: FastifyReply,
  member: SignedInMember,
  { step, shop, rejected }: Shown,
) {
  const { clientName, documentHost, host, redirectUri, scopes } = step
  const refusal = consentProblem(shop.apiAccess)
  return sendForm(request, reply, {
    title: `Allow ${clientName}?`,
    // A browser would apply form-action to the redirect to the program, and to the redirects that follow.
    policy: { 'form-action': null },
    main: html`${problem(rejected?.message)}
<p><strong>${clientName}</strong> wants to act for your shop <strong>${shop.name}</strong>.</p>
<p>Your browser then goes back to <strong>${host}</strong>.</p>
${documentHost !== null && html`<p>The program is published by <strong>${documentHost}</strong>.</p>`}
${documentHost === null && html`<p class="hint">The program chose its name itself.</p>`}
${isLocal(redirectUri) && html`<p class="problem">It runs on your computer, where any program can use this name. Allow it only if you have just started it yourself.</p>`}
<form method="post" action="${rootOf(request)}/oauth/step/${uidOf(request)}">
${
  refusal === undefined
    ? html`${scopeFields(scopes, rejected?.checked)}
${decisionButtons}`
    : html`<p class="problem">${refusal}</p>
<button name="decision" value="refuse">Go back</button>`
}
</form>
<p class="hint">You can end its access in the dashboard under Keys.</p>
${signedInAs(ctx, request, member, addressOf(step))}`,
  })
}

const uidOf = ({ params }: FastifyRequest) => (params as { uid: string }).uid

const stepGone = () =>
  notFound(
    'This request has already been decided, or has expired. If the program is not connected, start again there.',
  )
