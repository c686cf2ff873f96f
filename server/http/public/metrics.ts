import type { Service } from '../../service.ts'
import { authenticateRoot } from '../authenticate-operator.ts'
import { forbidCaching } from '../response-headers.ts'
import type { App } from '../schema.ts'

/** Metrics for Prometheus. They reveal a lot about the business, so they need the operator token. */
export function metricsRoutes(app: App, ctx: Service): void {
  app.get(
    '/metrics',
    { onRequest: [forbidCaching, authenticateRoot(ctx)] },
    async (_request, reply) =>
      reply.type(ctx.metrics.contentType).send(await ctx.metrics.text(ctx)),
  )
}
