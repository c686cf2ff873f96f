import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ApiAccess } from '../../enums.ts'
import { SCOPES, type Scope } from '../../keys/scopes.ts'
import { memberOf, type SignedInMember } from '../../members/sessions.ts'
import type { Service } from '../../service.ts'
import { html } from '../html.ts'
import { rootOf } from '../page.ts'
import { sessionToken } from '../session-cookie.ts'
import type { Fields } from '../sign-in/forms.ts'
import { MAX_PATH_LENGTH } from '../sign-in/own-path.ts'

/** The parts that the consent to a program and to a device share. */

/** Scopes in the words of a seller. Those that include buyers' personal data mention it. */
const LABELS: Record<Scope, string> = {
  'catalog:read': 'Search the catalog and see offers',
  'listings:read': 'See your listings',
  'listings:write': 'Add and delete listings, change prices, stock, shipping options and holidays',
  'orders:read': 'See your orders, sales and payouts: it receives your buyers’ names and addresses',
  'orders:write':
    'Ship orders, cancel them with a refund, buy labels at your expense, answer disputes and reviews: it receives your buyers’ names and addresses',
  'webhooks:manage': 'See and change your webhooks, which receive your buyers’ names and addresses',
}

/** A form that is shown again, with the checkboxes as they were sent. */
export type Rejected = { message: string; checked: readonly Scope[] }

/** A checkbox for each scope. */
export const scopeFields = (scopes: readonly Scope[], checked = scopes) => html`<fieldset>
<legend>It may</legend>
${scopes.map(
  (
    scope,
  ) => html`<label class="choice"><input type="checkbox" name="${scope}"${checked.includes(scope) && html` checked`}>
<span>${LABELS[scope]}</span></label>
`,
)}
</fieldset>`

/** Enter in a checkbox presses the first button, so that one can't be the one that allows. */
export const decisionButtons = html`<button class="undecided" tabindex="-1" aria-hidden="true">Continue</button>
<button name="decision" value="allow">Allow</button>
<button class="secondary" name="decision" value="refuse">Refuse</button>`

/** The scopes whose checkbox is checked, among those of the request. */
export const checkedScopes = (fields: Fields, requested: readonly Scope[]) =>
  SCOPES.filter((scope) => requested.includes(scope) && fields[scope] !== undefined)

/** The member who is signed in; otherwise sends the browser to sign in, and back here. */
export async function requireMember(
  ctx: Service,
  request: FastifyRequest,
  reply: FastifyReply,
  path = request.url,
): Promise<SignedInMember | undefined> {
  const token = sessionToken(request, ctx.config)
  const member = token === undefined ? null : await memberOf(ctx, token)
  if (member) return member
  reply.redirect(signInAddress(ctx, request, path), 303)
  return undefined
}

/** The address of a sign-in that leads back to one of our paths. */
const signInAddress = (ctx: Service, request: FastifyRequest, path: string, more = {}) =>
  `${rootOf(request)}/signin?${new URLSearchParams({ next: publicPath(ctx, path), ...more })}`

const publicPath = ({ config }: Service, path: string) =>
  new URL(config.publicUrl).pathname.replace(/\/$/, '') + path

/** Whether a sign-in can lead back to one of our paths. */
export const canReturnTo = (ctx: Service, path: string) =>
  publicPath(ctx, path).length <= MAX_PATH_LENGTH

/** Names the member who is signed in, with a link to a path as another member: a person may have several shops. */
export const signedInAs = (
  ctx: Service,
  request: FastifyRequest,
  { email }: SignedInMember,
  path = request.url,
) =>
  html`<p class="hint">You are signed in as <strong>${email}</strong>. <a href="${signInAddress(ctx, request, path, { switch: '1' })}">Sign in as another member</a></p>`

/** The shop that a member acts for. */
export async function shopOf(
  { db }: Service,
  { accountId }: SignedInMember,
): Promise<{ name: string; apiAccess: ApiAccess }> {
  const [shop] = await db<{ name: string; apiAccess: ApiAccess }[]>`
    select shop_name as name, api_access as "apiAccess" from accounts where id = ${accountId}
  `
  return shop!
}

/** The reason why no program can act for a shop; undefined if it can. */
export const consentProblem = (apiAccess: ApiAccess) =>
  apiAccess === 'enabled'
    ? undefined
    : apiAccess === 'suspended'
      ? 'Programs can’t act for your shop now, because its API access is suspended.'
      : 'Programs can’t act for your shop, because API access is not enabled for it.'
