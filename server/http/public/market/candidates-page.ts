import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CardCandidate, SetCandidate } from '../../../catalog/identifiers.ts'
import type { Context } from '../../../context.ts'
import type { ApiError } from '../../../errors.ts'
import { html } from '../../html.ts'
import { rootOf } from '../../page.ts'
import { sendErrorPage } from './layout.ts'
import { editionOf } from './parts.ts'

/** Sends the page of an `ambiguous_identifier` error: links to the candidates instead of the advice for programs. */
export function sendCandidatesPage(
  ctx: Pick<Context, 'config'>,
  request: FastifyRequest,
  reply: FastifyReply,
  error: ApiError,
) {
  const root = rootOf(request)
  const { id } = request.params as { id: string }
  const candidates = error.fields?.candidates as (CardCandidate | SetCandidate)[]
  const links = candidates.map((candidate) => {
    const isCard = 'number' in candidate
    const path = `${isCard ? 'cards' : 'sets'}/${encodeURIComponent(candidate.id)}`
    const place = isCard ? `${candidate.set} ${candidate.number}` : candidate.series
    return html`<li><a href="${root}/${path}">${candidate.name}</a>, ${place}, ${editionOf(candidate)}</li>
`
  })
  const records = candidates.some((candidate) => 'number' in candidate) ? 'cards' : 'sets'
  return sendErrorPage(ctx, request, reply, {
    status: error.status,
    message: `Several ${records} have the identifier “${id}”`,
    more: html`<ul>
${links}</ul>`,
  })
}
