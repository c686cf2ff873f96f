import type { FastifyInstance } from 'fastify'
import { findLink } from '../../members/links.ts'
import { changeEmail } from '../../members/sign-in.ts'
import type { Service } from '../../service.ts'
import { html } from '../html.ts'
import { rootOf } from '../page.ts'
import type { Query } from '../query.ts'
import { fieldsOf, formOptions } from './forms.ts'
import { sendForm } from './layout.ts'

/** `/email`: a member confirms a new e-mail address. */
export function emailPages(app: FastifyInstance, ctx: Service): void {
  app.get('/email', async (request, reply) => {
    const { token = '' } = request.query as Query
    const { email } = await findLink(ctx, 'email', token)
    return sendForm(request, reply, {
      title: 'Confirm your e-mail address',
      main: html`<p>You will sign in with <strong>${email}</strong>.</p>
<form method="post" action="${rootOf(request)}/email">
<input type="hidden" name="token" value="${token}">
<button>Confirm</button>
</form>`,
    })
  })

  app.post('/email', formOptions, async (request, reply) => {
    const email = await changeEmail(ctx, fieldsOf(request).token ?? '', request.id)
    return sendForm(request, reply, {
      title: 'Your e-mail address has been changed',
      main: html`<p>You now sign in with <strong>${email}</strong>.</p>
<p><a class="button" href="${rootOf(request)}/dashboard">Go to the dashboard</a></p>`,
    })
  })
}
