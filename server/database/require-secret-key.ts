import type { Config } from '../config.ts'
import type { SealedPurpose } from '../crypto/derived-key.ts'
import { unsealText } from '../crypto/sealed.ts'
import { StartError } from '../start-error.ts'
import type { Db } from './sql.ts'

/**
 * Refuses to start a service with another SECRET_KEY than the one that encrypted the stored secrets. It would fail to
 * sign webhooks and to pay sellers, and store new secrets that the right key can't read. Reads one secret of each table;
 * stored responses expire within a day, so they don't count.
 *
 * @throws StartError
 */
export async function requireSecretKey({
  db,
  config,
}: {
  db: Db
  config: Pick<Config, 'secretKey'>
}): Promise<void> {
  const secrets = await db<{ purpose: SealedPurpose; accountId: number; sealed: Buffer }[]>`
    (
      select 'webhook secrets' as purpose, account_id as "accountId", secret as sealed
      from webhook_endpoints
      where deleted_at is null
      order by id desc
      limit 1
    )
    union all
    (
      select 'bank accounts', account_id, iban
      from payout_setups
      order by account_id desc
      limit 1
    )
    union all
    (
      select 'bank accounts', account_id, iban
      from payout_setup_changes
      order by account_id desc
      limit 1
    )
    union all
    (
      select 'bank accounts', account_id, iban
      from payout_transfers
      order by run_id desc, payout_id desc
      limit 1
    )
  `
  for (const { purpose, accountId, sealed } of secrets) {
    try {
      unsealText(config, purpose, accountId, sealed)
    } catch {
      throw new StartError(
        `SECRET_KEY is not the key that the ${purpose} in this database were encrypted with. Start with that key: without it no webhook can be signed and no seller can be paid.`,
      )
    }
  }
}
