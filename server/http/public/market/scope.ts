import type { FastifyError, FastifyInstance, RouteHandlerMethod } from 'fastify'
import { outageLog } from '../../../database/unavailable.ts'
import { ApiError, serviceUnavailable } from '../../../errors.ts'
import { addressSubject } from '../../../limits/address.ts'
import { limitConcurrency } from '../../../queue/limit-concurrency.ts'
import type { Service } from '../../../service.ts'
import { catalogued } from '../../error-handler.ts'
import { html } from '../../html.ts'
import { wantsPage } from '../../page.ts'
import { sendCandidatesPage } from './candidates-page.ts'
import { sendErrorPage } from './layout.ts'

/**
 * Public pages need no key, so nothing else bounds them: each handler uses one database connection at a time, and the
 * others of the pool stay with the APIs.
 */
const MAX_CONCURRENT_PAGES = 2
/** Further requests are refused: a visitor would not wait for so long. */
const MAX_UNFINISHED_PAGES = 100
/**
 * Places that only client addresses with few unfinished pages get, so that one client can't take all places. One address
 * may take all the others: without TRUST_PROXY, all visitors behind a proxy have the same address.
 */
const MAX_ADDITIONAL_PAGES = 50
const FEW_PAGES = 8

/** Prepares a scope for public pages: errors are pages, and few pages are made at the same time. */
export function marketScope(app: FastifyInstance, ctx: Service): void {
  const limited = limitConcurrency(MAX_CONCURRENT_PAGES)
  let unfinished = 0
  const byAddress = new Map<string, number>()
  app.addHook('onRoute', (route) => {
    const { handler } = route
    const make: RouteHandlerMethod = async function (request, reply) {
      const address = addressSubject(request.ip)
      const own = byAddress.get(address) ?? 0
      const additional = own < FEW_PAGES ? MAX_ADDITIONAL_PAGES : 0
      if (unfinished >= MAX_UNFINISHED_PAGES + additional) {
        throw serviceUnavailable('Too many pages are requested. Try again shortly.')
      }
      unfinished++
      byAddress.set(address, own + 1)
      const made = limited(async () => {
        // The client disconnected while the request was queued.
        if (reply.raw.destroyed) return reply.send()
        return handler.call(this, request, reply)
      })
      return made.finally(() => {
        unfinished--
        const left = byAddress.get(address)! - 1
        if (left > 0) byAddress.set(address, left)
        else byAddress.delete(address)
      })
    }
    route.handler = make
  })
  const warn = outageLog(ctx.log)
  app.setErrorHandler((thrown: FastifyError | ApiError, request, reply) => {
    const error = catalogued(thrown, request)
    if (error.status === 503 && wantsPage(request)) {
      if (error.cause) warn({ err: error.cause, reqId: request.id })
      return sendErrorPage(ctx, request, reply.headers(error.headers), {
        status: 503,
        message: 'This page can’t be shown at the moment',
        more: html`<p>Please try again shortly.</p>`,
      })
    }
    // Other failures of the service are handled like those of the APIs.
    if (!(thrown instanceof ApiError) || error.status >= 500) throw thrown
    return error.type === 'ambiguous_identifier'
      ? sendCandidatesPage(ctx, request, reply, error)
      : sendErrorPage(ctx, request, reply, error)
  })
}
