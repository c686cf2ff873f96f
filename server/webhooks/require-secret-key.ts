import type { Context } from '../context.ts'
import { StartError } from '../start-error.ts'
import { unseal } from './secret.ts'

/**
 * Lets no service start that couldn't sign a delivery: the newest endpoint's secret must be readable with our key.
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
      'SECRET_KEY is not the one that the webhook secrets in this database were encrypted with. Start with that one, or nothing could be signed.',
    )
  }
}
