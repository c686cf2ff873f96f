import { readFile } from 'node:fs/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { endSession, memberOf, requirePageMember } from '../../members/sessions.ts'
import { signIn } from '../../members/sign-in.ts'
import type { Service } from '../../service.ts'
import { finishPublic } from '../compress.ts'
import { html } from '../html.ts'
import { lazy } from '../lazy.ts'
import { rootOf, sendAsset } from '../page.ts'
import type { Query } from '../query.ts'
import { clearSessionCookie, sessionToken, setSessionCookie } from '../session-cookie.ts'
import { limitAttempts } from '../sign-in-limits.ts'
import { failForm, fieldsOf, formOptions } from './forms.ts'
import { emailField, problem, sendForm } from './layout.ts'
import { ownPath } from './own-path.ts'

/** Firefox judges `rel=prefetch` by `default-src`. The other directives that fall back to it are closed again. */
const PREFETCH_POLICY = { 'default-src': "'self'", 'object-src': "'none'", 'frame-src': "'none'" }

/** `/signin` and the style sheet of all forms. */
export function signInPages(
  app: FastifyInstance,
  ctx: Service,
  dashboard: { startFiles(): Promise<string[]> },
): void {
  const { config } = ctx
  const styles = lazy(() => readFile(new URL('pages.css', import.meta.url)))
  app.get('/signin/pages.css', { onSend: finishPublic }, async (_request, reply) =>
    sendAsset(reply, await styles(), 'text/css'),
  )

  app.get('/signin', async (request, reply) => {
    const { next, switch: isSwitch } = request.query as Query
    const token = sessionToken(request, config)
    const member = token === undefined ? null : await memberOf(ctx, token)
    // A link to `switch` belongs to a page that another member may want to use.
    if (member && isSwitch === undefined) {
      return reply.redirect(ownPath(next, config.publicUrl), 303)
    }
    return sendSignIn(request, reply, { next, current: member?.email })
  })

  app.post('/signin', formOptions, async (request, reply) => {
    const { email = '', password = '', next } = fieldsOf(request)
    const browser = {
      userAgent: request.headers['user-agent'],
      address: request.ip,
      requestId: request.id,
    }
    try {
      const token = await limitAttempts(ctx, request, email, () =>
        signIn(ctx, email.trim(), password, browser),
      )
      // The browser's former session would have no cookie any more.
      const former = sessionToken(request, config)
      if (former !== undefined) await endSession(ctx, former, request.id)
      setSessionCookie(reply, config, token)
      return reply.redirect(ownPath(next, config.publicUrl), 303)
    } catch (error) {
      return sendSignIn(request, reply, { next, email, message: failForm(request, reply, error) })
    }
  })

  async function sendSignIn(
    request: FastifyRequest,
    reply: FastifyReply,
    {
      next,
      current,
      email,
      message,
    }: { next?: string; current?: string; email?: string; message?: string },
  ) {
    const root = rootOf(request)
    // The browser loads them while the person types.
    const files = await dashboard.startFiles().catch(() => [])
    const main = html`${problem(message)}
${current !== undefined && html`<p>You are signed in as <strong>${current}</strong>. Another sign-in ends that session.</p>`}
<form method="post" action="${root}/signin">
${next !== undefined && html`<input type="hidden" name="next" value="${next}">`}
${emailField(email)}
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required>
<button>Sign in</button>
</form>
<p><a href="${root}/password/forgot">Forgot your password?</a></p>
${config.sandbox && html`<p class="hint">This is a sandbox. The terminal that started the service shows the demo seller’s password.</p>`}
${files.map((file) => html`<link rel="prefetch" crossorigin href="${root}/dashboard/${file}">`)}`
    return sendForm(request, reply, { title: 'Sign in', main, policy: PREFETCH_POLICY })
  }
}

/** `/signout`: ends the session of this browser, unless the page was loaded for another member. */
export function signOutRoute(app: FastifyInstance, ctx: Service): void {
  app.post('/signout', formOptions, async (request, reply) => {
    const token = sessionToken(request, ctx.config)
    if (token !== undefined) {
      const member = await memberOf(ctx, token)
      if (member) requirePageMember(member, fieldsOf(request).member)
      await endSession(ctx, token, request.id)
    }
    clearSessionCookie(reply, ctx.config)
    return reply.redirect(`${rootOf(request)}/signin`, 303)
  })
}
