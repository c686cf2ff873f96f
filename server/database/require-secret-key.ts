import type { Config } from '../config.ts'
import { deriveKey, type SealedPurpose } from '../crypto/derived-key.ts'
import { unsealText } from '../crypto/sealed.ts'
import { StartError } from '../start-error.ts'
import type { Db } from './sql.ts'

/**
 * Refuses to start a service with another SECRET_KEY than the one that encrypted the stored secrets. It would fail to
 * sign webhooks and to pay sellers, and store new secrets that the right key can't read. Reads one secret of each table;
 * stored responses expire within a day, so they don't count. The first start outside the sandbox stores a check of its key,
 * so that two services of a marketplace can't begin with different keys while nothing is encrypted.
 *
 * @throws StartError
 */
export async function requireSecretKey({
  db,
  config,
}: {
  db: Db
  config: Pick<Config, 'secretKey' | 'sandbox'>
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
  // Each DATA_DIR of a sandbox generates a key of its own.
  if (config.sandbox) return
  const check = deriveKey('key check', config)
  const first = (await readCheck(db)) ?? (await storeCheck(db, check))
  if (!first.equals(check)) {
    throw new StartError(
      'SECRET_KEY is not the key with which a service has started on this database before. Start all services with the same key.',
    )
  }
}

async function readCheck(db: Db): Promise<Buffer | null> {
  const [clock] = await db<{ check: Buffer | null }[]>`select key_check as check from clock`
  return clock!.check
}

/** Stores the check, unless another service has stored one meanwhile, and returns the stored one. */
async function storeCheck(db: Db, check: Buffer): Promise<Buffer> {
  const [clock] = await db<{ check: Buffer }[]>`
    update clock
    set key_check = coalesce(key_check, ${check})
    returning key_check as check
  `
  return clock!.check
}
