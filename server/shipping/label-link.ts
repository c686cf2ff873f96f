import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Context } from '../context.ts'
import { deriveKey } from '../crypto/derived-key.ts'
import { authorizationError } from '../errors.ts'
import { DAYS } from '../time/units.ts'

/**
 * A link to a label gives access to the PDF without a key, until it expires. One signature covers the path, the expiry
 * and a nonce, so that none of them can be replaced and every link is unique.
 */

/** Lifetime of a link (§4.13). */
const VALID_MS = 5 * DAYS

/** The stored part of a link. The label's name and the secret key give the rest. */
export type Link = { nonce: string; expiresAt: Date }

type Signing = Pick<Context, 'config'>

/** A new link, valid for five days. */
export function newLink({ now }: Pick<Context, 'now'>): Link {
  // In whole seconds, because links and responses have no fractions.
  const seconds = Math.floor((now().getTime() + VALID_MS) / 1000)
  return { nonce: randomBytes(16).toString('base64url'), expiresAt: new Date(seconds * 1000) }
}

/** The signed URL of a link. */
export function labelUrl(ctx: Signing, labelName: string, { nonce, expiresAt }: Link): string {
  const expires = String(expiresAt.getTime() / 1000)
  const signature = signatureOf(ctx, { path: pathOf(labelName), expires, nonce })
  const query = new URLSearchParams({ expires, nonce, signature })
  return `${ctx.config.publicUrl}${pathOf(labelName)}?${query}`
}

/**
 * Verifies a link's signature and expiry.
 *
 * @param query as it was sent: the signature covers the text, not the parsed values
 * @throws authorization_error
 */
export function requireLink(
  ctx: Signing & Pick<Context, 'now'>,
  path: string,
  query: Record<string, unknown>,
): void {
  const [expires, nonce, signature] = [query.expires, query.nonce, query.signature].map((value) =>
    typeof value === 'string' ? value : '',
  ) as [string, string, string]
  const expected = signatureOf(ctx, { path, expires, nonce })
  if (!isEqual(signature, expected)) throw authorizationError('This link to a label is not valid.')
  // After the signature: the expiry of a forged link means nothing.
  if (ctx.now().getTime() >= Number(expires) * 1000) {
    throw authorizationError(
      'This link to a label has expired. Request the label again for a new link.',
    )
  }
}

/** The path of a label, which its link signs. */
const pathOf = (labelName: string) => `/labels/${labelName}.pdf`

function signatureOf(
  { config }: Signing,
  { path, expires, nonce }: { path: string; expires: string; nonce: string },
): string {
  return createHmac('sha256', deriveKey('label links', config))
    .update(`${path}\n${expires}\n${nonce}`)
    .digest('base64url')
}

/** Compares in constant time. */
function isEqual(signature: string, expected: string): boolean {
  const [a, b] = [Buffer.from(signature), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
