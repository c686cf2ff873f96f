import type { FastifyError, FastifyInstance } from 'fastify'
import { ApiError } from '../../../errors.ts'
import { sendErrorPage } from './layout.ts'

/** Shows what a visitor can cause as a page. Failures of the service are handled like those of the APIs. */
export function showErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError | ApiError, request, reply) => {
    if (!(error instanceof ApiError) || error.status >= 500) throw error
    return sendErrorPage(request, reply, error)
  })
}
