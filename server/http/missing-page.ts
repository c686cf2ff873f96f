import type { FastifyReply, FastifyRequest } from 'fastify'
import { html } from './html.ts'
import { rootOf, sendPage, wantsPage } from './page.ts'
import { plainPage } from './plain-page.ts'

/** The addresses of the APIs, where an error is JSON for every client. */
const APIS = /^\/(v1|tools|operator|mcp|oauth|\.well-known)(?![\w-])/

/** Whether a person gets a page for an address that does not exist: they have followed an outdated link. */
export const isMissedByPerson = (request: FastifyRequest): boolean =>
  ['GET', 'HEAD'].includes(request.method) && wantsPage(request) && !APIS.test(request.url)

/** Sends the page of an address that does not exist, with links to where everything begins. */
export function sendMissingPage(request: FastifyRequest, reply: FastifyReply, message: string) {
  const root = rootOf(request)
  const main = html`<p>The address may be outdated or mistyped.</p>
<p><a href="${root}/">Start page</a></p>
<p><a href="${root}/docs/guides/">Guides</a></p>`
  reply.code(404).header('cache-control', 'no-store')
  return sendPage(reply, plainPage(message, main, root))
}
