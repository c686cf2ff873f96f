import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { findLink } from '../../members/links.ts'
import { PASSWORD_LENGTH } from '../../members/password.ts'
import { choosePassword, hasJustChosen, requestReset } from '../../members/sign-in.ts'
import { endGrantsOfMember } from '../../oauth/grants.ts'
import type { Service } from '../../service.ts'
import { catalogued } from '../error-handler.ts'
import { html } from '../html.ts'
import { rootOf } from '../page.ts'
import type { Query } from '../query.ts'
import { isMailCaptured, SANDBOX_MAIL } from '../sandbox-mail.ts'
import { limitResets } from '../sign-in-limits.ts'
import { failForm, fieldsOf, formOptions } from './forms.ts'
import { emailField, newPasswordField, problem, sendForm } from './layout.ts'

/** Another person than the one who needs a password may be signed in to this browser. */
const SIGN_IN = '/signin?switch=1'

/** `/password/forgot` and `/password/reset`. */
export function passwordPages(app: FastifyInstance, ctx: Service): void {
  app.get('/password/forgot', (request, reply) => sendForgot(request, reply, {}))

  app.post('/password/forgot', formOptions, async (request, reply) => {
    const email = (fieldsOf(request).email ?? '').trim()
    try {
      if (await limitResets(ctx, request, email)) {
        // Not awaited: the time of the response would reveal a known address.
        requestReset(ctx, email, request.id).catch((error) =>
          ctx.log.error({ err: error, reqId: request.id }, 'cannot send a link to a password'),
        )
      }
    } catch (error) {
      return sendForgot(request, reply, { email, message: failForm(request, reply, error) })
    }
    return sendForm(request, reply, {
      title: 'Look into your mailbox',
      main: html`<p>If someone signs in with this address, we have sent a link to choose a new password. It works once, within an hour.</p>
<p><a href="${rootOf(request)}${SIGN_IN}">Sign in</a></p>
${isMailCaptured(ctx.config) && html`<p class="hint">This is a sandbox, which sends no e-mail. The operator API shows it: <code>GET ${SANDBOX_MAIL}</code>.</p>`}`,
    })
  })

  choosingPages(app, ctx, {
    path: '/password/reset',
    purpose: 'reset',
    title: 'Choose a new password',
  })
}

/** `/invitation`: an invited member chooses a password. */
export function invitationPages(app: FastifyInstance, ctx: Service): void {
  choosingPages(app, ctx, {
    path: '/invitation',
    purpose: 'invitation',
    title: 'Choose a password',
  })
}

type Choosing = { path: string; purpose: 'invitation' | 'reset'; title: string }
type Choice = { token: string; email: string; endsPrograms?: boolean; message?: string }

function choosingPages(
  app: FastifyInstance,
  ctx: Service,
  { path, purpose, title }: Choosing,
): void {
  const sendChoice = (
    request: FastifyRequest,
    reply: FastifyReply,
    { token, email, endsPrograms = true, message }: Choice,
  ) =>
    sendForm(request, reply, {
      title,
      main: html`${problem(message)}
<p>You sign in with <strong>${email}</strong>.</p>
<form method="post" action="${rootOf(request)}${path}">
<input type="hidden" name="token" value="${token}">
<input type="hidden" name="email" value="${email}" autocomplete="username">
${newPasswordField(PASSWORD_LENGTH)}
${
  purpose === 'reset' &&
  html`<label class="choice"><input type="checkbox" name="end_programs"${endsPrograms && html` checked`}>
<span>Also end the access of all programs that I have allowed</span></label>`
}
<button>Save the password</button>
</form>`,
    })

  app.get(path, async (request, reply) => {
    const { token = '' } = request.query as Query
    const { memberEmail } = await findLink(ctx, purpose, token)
    return sendChoice(request, reply, { token, email: memberEmail })
  })

  app.post(path, formOptions, async (request, reply) => {
    const { token = '', email = '', password = '', ...fields } = fieldsOf(request)
    const endsPrograms = fields.end_programs !== undefined
    try {
      await choosePassword(ctx, purpose, token, password, request.id, async (tx, memberId) => {
        if (endsPrograms) await endGrantsOfMember(tx, memberId)
      })
    } catch (error) {
      // During an outage nothing can be looked up, so the form shows the address that it has sent.
      const isOutage = catalogued(error, request).status === 503
      if (isOutage || !(await hasJustChosen(ctx, purpose, token, password))) {
        const message = failForm(request, reply, error)
        const shown = isOutage ? email : (await findLink(ctx, purpose, token)).memberEmail
        return sendChoice(request, reply, { token, email: shown, endsPrograms, message })
      }
    }
    return sendForm(request, reply, {
      title: 'Your password is saved',
      main: html`${
        purpose === 'reset' &&
        html`<p>The shop’s API keys and webhook endpoints still work. If somebody else knew your password, revoke the keys and delete the endpoints that you don’t know.</p>`
      }
<p><a class="button" href="${rootOf(request)}${SIGN_IN}">Sign in</a></p>`,
    })
  })
}

function sendForgot(
  request: FastifyRequest,
  reply: FastifyReply,
  { email, message }: { email?: string; message?: string },
) {
  const root = rootOf(request)
  return sendForm(request, reply, {
    title: 'Forgot your password?',
    main: html`${problem(message)}
<p>We send a link to choose a new one.</p>
<form method="post" action="${root}/password/forgot">
${emailField(email)}
<button>Send the link</button>
</form>
<p><a href="${root}${SIGN_IN}">Sign in</a></p>`,
  })
}
