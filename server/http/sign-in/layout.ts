import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Html, html } from '../html.ts'
import { type PolicyChanges, rootOf, sendPage } from '../page.ts'
import { plainPage } from '../plain-page.ts'

/** Pages of forms: no script, and forms are sent to this site only. */
const POLICY = {
  'script-src': "'none'",
  'connect-src': "'none'",
  'img-src': 'data:',
  'form-action': "'self'",
}

/**
 * @param main the content; its addresses are relative to `rootOf` the request
 * @param policy directives in which the page differs from the other forms
 */
export const sendForm = (
  request: FastifyRequest,
  reply: FastifyReply,
  { title, main, policy }: { title: string; main: Html; policy?: PolicyChanges },
) => {
  const page = plainPage(title, main, rootOf(request))
  return sendPage(reply, page, { ...POLICY, ...policy })
}

/** The message of an error, above a form. */
export const problem = (message: string | undefined) =>
  message !== undefined && html`<p class="problem" role="alert">${message}</p>`

// Not of the type `email`: Chrome sends its domain in Punycode, and no browser accepts a local part that is not ASCII.
export const emailField = (value: string | undefined) => html`<label for="email">E-mail</label>
<input id="email" name="email" inputmode="email" autocapitalize="none" spellcheck="false" autocomplete="username" maxlength="254" required value="${value}">`

export const newPasswordField = ({
  min,
  max,
}: {
  min: number
  max: number
}) => html`<label for="password">New password</label>
<input id="password" name="password" type="password" autocomplete="new-password" minlength="${min}" maxlength="${max}" required aria-describedby="rule">
<p class="hint" id="rule">At least ${min} characters.</p>`
