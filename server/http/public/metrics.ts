import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import type { Service } from '../../service.ts'
import { authenticateRoot } from '../authenticate-operator.ts'

/** Metrics for Prometheus. They reveal a lot about the business, so they need the operator token. */
export const metricsRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    app.get('/metrics', { onRequest: authenticateRoot(ctx) }, async (_request, reply) =>
      reply.type(ctx.metrics.contentType).send(await ctx.metrics.text(ctx)),
    )
    done()
  }
