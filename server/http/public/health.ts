import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import { serviceUnavailable } from '../../errors.ts'
import type { Service } from '../../service.ts'

/** So that the answer is there within 2 s. */
const DATABASE_TIMEOUT_MS = 1_800

/** Whether the process lives, and whether it can serve: for load balancers and orchestrators, without a key. */
export const healthRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    const databaseAnswers = databaseCheck(ctx)

    app.get('/health/live', () => ({ status: 'live' }))

    app.get('/health/ready', async () => {
      if (!ctx.readiness.ready) throw serviceUnavailable('The service is starting.')
      if (!(await databaseAnswers())) throw serviceUnavailable('The database does not answer.')
      return { status: 'ready' }
    })
    done()
  }

/** Asks the database. Checks that come meanwhile share the answer: a frozen one must not gather them. */
function databaseCheck({ db }: Pick<Service, 'db'>): () => Promise<boolean> {
  let asking: Promise<boolean> | undefined
  const ask = async () => {
    const { promise: patience, resolve } = Promise.withResolvers<boolean>()
    const timer = setTimeout(() => resolve(false), DATABASE_TIMEOUT_MS)
    const answer = db`select 1`.then(
      () => true,
      () => false,
    )
    try {
      return await Promise.race([answer, patience])
    } finally {
      clearTimeout(timer)
      asking = undefined
    }
  }
  return () => {
    asking ??= ask()
    return asking
  }
}
