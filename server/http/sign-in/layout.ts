import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Html, html } from '../html.ts'
import { type PolicyChanges, rootOf, sendPage } from '../page.ts'

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
  const root = rootOf(request)
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} · Cardstall</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${root}/signin/pages.css">
</head>
<body>
<header><a class="brand" href="${root}/">Cardstall</a></header>
<main>
<h1>${title}</h1>
${main}
</main>
</body>
</html>
`
  return sendPage(reply, page.text, { ...POLICY, ...policy })
}

/** The message of an error, above a form. */
export const problem = (message: string | undefined) =>
  message !== undefined && html`<p class="problem" role="alert">${message}</p>`

export const emailField = (value: string | undefined) => html`<label for="email">E-mail</label>
<input id="email" name="email" type="email" autocomplete="username" maxlength="254" required value="${value}">`

export const newPasswordField = ({
  min,
  max,
}: {
  min: number
  max: number
}) => html`<label for="password">New password</label>
<input id="password" name="password" type="password" autocomplete="new-password" minlength="${min}" maxlength="${max}" required aria-describedby="rule">
<p class="hint" id="rule">At least ${min} characters.</p>`
