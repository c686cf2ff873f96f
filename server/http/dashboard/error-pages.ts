import type { FastifyError, FastifyInstance } from 'fastify'
import type { Config } from '../../config.ts'
import type { ApiError } from '../../errors.ts'
import { catalogued } from '../error-handler.ts'
import { html } from '../html.ts'
import { rootOf, sendPage, wantsPage } from '../page.ts'
import { plainPage } from '../plain-page.ts'

/**
 * Shows errors as pages in a tab that a link has opened, such as that of packing slips: the dashboard can't say there that
 * its session has ended. `fetch` doesn't ask for a page, and gets the envelope.
 */
export function showErrorsAsPages(app: FastifyInstance, { publicUrl }: Config): void {
  app.setErrorHandler((error: FastifyError | ApiError, request, reply) => {
    const known = catalogued(error, request)
    if (!wantsPage(request) || known.status === 500) throw error
    const root = rootOf(request)
    const link =
      known.status === 401
        ? html`<a href="${root}/signin?next=${encodeURIComponent(ownPathOf(request.url, publicUrl))}">Sign in</a>`
        : html`<a href="${root}/dashboard">Open the dashboard</a>`
    const page = plainPage('That didn’t work', html`<p>${known.message}</p>\n<p>${link}</p>`, root)
    return sendPage(reply.code(known.status).headers(known.headers), page)
  })
}

/** The path in browsers, for whichever member signs in. */
function ownPathOf(url: string, publicUrl: string): string {
  const { pathname, search } = new URL(publicUrl.replace(/\/$/, '') + url)
  const parameters = new URLSearchParams(search)
  parameters.delete('member')
  return parameters.size === 0 ? pathname : `${pathname}?${parameters}`
}
