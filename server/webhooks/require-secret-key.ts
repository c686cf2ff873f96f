import type { Context } from '../context.ts'
import { StartError } from '../start-error.ts'
import { unseal } from './secret.ts'

/**
 * Refuses to start a service that cannot sign deliveries: SECRET_KEY must decrypt the newest endpoint's secret.
 *
 * @throws StartError
 */
export async function requireSecretKey({ db, config }: Context) {
  const [endpoint] = await db<{ accountId: number; secret: Buffer }[]>`
    select account_id as "accountId", secret
    from webhook_endpoints
    where deleted_at is null
    order by id desc
    limit 1
  `
  if (!endpoint) return
  try {
    unseal(config, endpoint.accountId, endpoint.secret)
  } catch {
    throw new StartError(
      'SECRET_KEY is not the key that the webhook secrets in this database were encrypted with. Start with that key: without it no webhook can be signed.',
    )
  }
}
