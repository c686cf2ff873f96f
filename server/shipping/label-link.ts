import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Context } from '../context.ts'
import { deriveKey } from '../crypto/derived-key.ts'
import { authorizationError } from '../errors.ts'

/**
 * Links to labels: whoever has one can fetch the PDF, until it expires. Path, expiry and a random number are signed
 * together, so that none of them can be exchanged, and no two links are the same.
 */

/** How long a link is good for (§4.13). */
const VALID_MS = 5 * 24 * 60 * 60 * 1000

/** What makes a link beside the label's name; together with the secret key it's the whole of it. */
export type Link = { nonce: string; expiresAt: Date }

type Signing = Pick<Context, 'config'>

export function newLink({ now }: Pick<Context, 'now'>): Link {
  // Whole seconds, as the link says it and as answers show it.
  const seconds = Math.floor((now().getTime() + VALID_MS) / 1000)
  return { nonce: randomBytes(16).toString('base64url'), expiresAt: new Date(seconds * 1000) }
}

/** The address behind which a label can be had. */
export function labelUrl(ctx: Signing, labelName: string, { nonce, expiresAt }: Link): string {
  const expires = String(expiresAt.getTime() / 1000)
  const signature = signatureOf(ctx, { path: pathOf(labelName), expires, nonce })
  const query = new URLSearchParams({ expires, nonce, signature })
  return `${ctx.config.publicUrl}${pathOf(labelName)}?${query}`
}

/**
 * Lets nobody through without a link of ours that is still good.
 *
 * @param query as it was sent: what was signed is compared, not what it may mean
 * @throws authorization_error
 */
export function requireLink(
  ctx: Signing & Pick<Context, 'now'>,
  path: string,
  query: Record<string, unknown>,
): void {
  const [expires, nonce, given] = [query.expires, query.nonce, query.signature].map((part) =>
    typeof part === 'string' ? part : '',
  ) as [string, string, string]
  const expected = signatureOf(ctx, { path, expires, nonce })
  if (!isSame(given, expected)) throw authorizationError('This link to a label is not valid.')
  // Only now: what isn't ours says nothing about its time.
  if (ctx.now().getTime() >= Number(expires) * 1000) {
    throw authorizationError('This link to a label has expired. Ask for the label again.')
  }
}

export const pathOf = (labelName: string) => `/labels/${labelName}.pdf`

function signatureOf(
  { config }: Signing,
  { path, expires, nonce }: { path: string; expires: string; nonce: string },
): string {
  return createHmac('sha256', deriveKey('label links', config))
    .update(`${path}\n${expires}\n${nonce}`)
    .digest('base64url')
}

/** In the same time, wherever they differ. */
function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
