import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'

/**
 * Content Security Policy of our pages: scripts, styles, images and requests only from this service, nothing inline, no
 * eval, and no framing.
 */
const POLICY = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
}

/** Directives of a page that differ from the common policy; null omits one. */
export type PolicyChanges = Partial<
  Record<
    keyof typeof POLICY | 'font-src' | 'frame-src' | 'object-src' | 'worker-src',
    string | null
  >
>

export const HTML_TYPE = 'text/html; charset=utf-8'

/** Sends an HTML page. Adds the security headers of pages to those of every response. */
export const sendPage = (reply: FastifyReply, html: string | Buffer, changes: PolicyChanges = {}) =>
  reply.headers(pageHeaders(changes)).type(HTML_TYPE).send(html)

/** The security headers of a page. */
export const pageHeaders = (changes: PolicyChanges): Record<string, string> => ({
  'content-security-policy': Object.entries({ ...POLICY, ...changes })
    .filter(([, sources]) => sources !== null)
    .map((directive) => directive.join(' '))
    .join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
})

/** Sends a text that a page uses or links to: a script, a style sheet, an example. Caches may keep it. */
export const sendAsset = (
  reply: FastifyReply,
  text: string | Buffer,
  type: string,
  maxAgeSeconds = 300,
) =>
  reply
    .header('cache-control', `public, max-age=${maxAgeSeconds}`)
    .type(`${type}; charset=utf-8`)
    .send(text)

/** Whether to send a response compressed, which caches keep apart from the other one. */
export function acceptsGzip({ raw }: FastifyRequest, reply: FastifyReply): boolean {
  reply.header('vary', 'accept-encoding')
  return new Negotiator(raw).encoding(['gzip', 'identity']) === 'gzip'
}

/** Whether the client prefers a page to JSON. */
export const wantsPage = ({ headers: { accept = '' } }: FastifyRequest): boolean =>
  /\btext\/html\b/i.test(accept) && !/\bapplication\/json\b/i.test(accept)

/** The relative address of the service from a page, so that pages work under any path prefix of a proxy. */
export function rootOf({ url }: Pick<FastifyRequest, 'url'>): string {
  const depth = url.split('?', 1)[0]!.split('/').length - 2
  return depth === 0 ? '.' : Array(depth).fill('..').join('/')
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes text for HTML, including quoted attributes. */
export const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (sign) => ENTITIES[sign]!)
