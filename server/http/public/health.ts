import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import type { Context } from '../../context.ts'
import { unavailable } from '../../errors.ts'

const DATABASE_PATIENCE_MS = 2_000

/** Whether the process lives, and whether it can serve: for load balancers and orchestrators, without a key. */
export const healthRoutes =
  (ctx: Context): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    app.get('/health/live', () => ({ status: 'live' }))

    app.get('/health/ready', async () => {
      if (!ctx.readiness.ready) throw unavailable('The service is starting.')
      if (!(await databaseAnswers(ctx))) throw unavailable('The database does not answer.')
      return { status: 'ready' }
    })
    done()
  }

async function databaseAnswers(ctx: Context): Promise<boolean> {
  const { promise: patience, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(false), DATABASE_PATIENCE_MS)
  const answer = ctx.db`select 1`.then(
    () => true,
    () => false,
  )
  try {
    return await Promise.race([answer, patience])
  } finally {
    clearTimeout(timer)
  }
}
