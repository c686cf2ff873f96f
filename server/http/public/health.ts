import { serviceUnavailable } from '../../errors.ts'
import type { Service } from '../../service.ts'
import { withTimeout } from '../../time/with-timeout.ts'
import { forbidCaching } from '../response-headers.ts'
import type { App } from '../schema.ts'

/** Leaves time to respond within 2 s. */
const DATABASE_TIMEOUT_MS = 1_800

/** Liveness and readiness for load balancers and orchestrators. They need no key. */
export function healthRoutes(app: App, ctx: Service): void {
  const databaseResponds = databaseCheck(ctx)
  // A cache in between would call a service ready that has ended.
  app.addHook('onRequest', forbidCaching)

  app.get('/health/live', () => ({ status: 'live' }))

  app.get('/health/ready', async () => {
    if (!ctx.readiness.ready) throw serviceUnavailable('The service is starting.')
    if (!(await databaseResponds())) throw serviceUnavailable('The database does not respond.')
    return { status: 'ready' }
  })
}

/** Queries the database. Concurrent checks share one query, so that they don't pile up if the database hangs. */
function databaseCheck(ctx: Pick<Service, 'db'>): () => Promise<boolean> {
  let pending: Promise<boolean> | undefined
  const check = () => {
    const result = ctx.db`select 1`.then(
      () => true,
      () => false,
    )
    return withTimeout(DATABASE_TIMEOUT_MS, result, () => false).finally(() => {
      pending = undefined
    })
  }
  return () => {
    pending ??= check()
    return pending
  }
}
