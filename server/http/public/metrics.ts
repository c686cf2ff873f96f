import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import type { Service } from '../../service.ts'
import { authenticateOperator } from '../authenticate.ts'

/** Figures for Prometheus. They tell a lot about the business, hence the operator's token. */
export const metricsRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    app.get('/metrics', { onRequest: authenticateOperator(ctx) }, async (_request, reply) =>
      reply.type(ctx.metrics.contentType).send(await ctx.metrics.text(ctx)),
    )
    done()
  }
