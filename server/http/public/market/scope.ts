import type { FastifyError, FastifyInstance, RouteHandlerMethod } from 'fastify'
import { ApiError, serviceUnavailable } from '../../../errors.ts'
import { limitConcurrency } from '../../../queue/limit-concurrency.ts'
import type { Service } from '../../../service.ts'
import { sendCandidatesPage } from './candidates-page.ts'
import { sendErrorPage } from './layout.ts'

/**
 * Public pages need no key, so nothing else bounds them: each handler uses one database connection at a time, and the
 * others of the pool stay with the APIs.
 */
const MAX_CONCURRENT_PAGES = 2
/** Further requests are refused: a visitor would not wait for so long. */
const MAX_UNFINISHED_PAGES = 100

/** Prepares a scope for public pages: errors are pages, and few pages are made at the same time. */
export function marketScope(app: FastifyInstance, ctx: Service): void {
  const limited = limitConcurrency(MAX_CONCURRENT_PAGES)
  let unfinished = 0
  app.addHook('onRoute', (route) => {
    const { handler } = route
    const make: RouteHandlerMethod = async function (request, reply) {
      if (unfinished >= MAX_UNFINISHED_PAGES) {
        throw serviceUnavailable('Too many pages are requested. Try again shortly.')
      }
      unfinished++
      const made = limited(async () => {
        // The client disconnected while the request was queued.
        if (reply.raw.destroyed) return reply.send()
        return handler.call(this, request, reply)
      })
      return made.finally(() => unfinished--)
    }
    route.handler = make
  })
  app.setErrorHandler((error: FastifyError | ApiError, request, reply) => {
    // Failures of the service are handled like those of the APIs.
    if (!(error instanceof ApiError) || error.status >= 500) throw error
    return error.type === 'ambiguous_identifier'
      ? sendCandidatesPage(ctx, request, reply, error)
      : sendErrorPage(ctx, request, reply, error)
  })
}
