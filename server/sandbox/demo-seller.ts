import { hash } from 'node:crypto'
import { changeAccount, createAccount } from '../accounts/accounts.ts'
import type { Context } from '../context.ts'
import { randomText } from '../crypto/random-text.ts'
import { ApiError } from '../errors.ts'
import { hashKey } from '../keys/api-key.ts'
import { createKey } from '../keys/keys.ts'
import { SCOPES } from '../keys/scopes.ts'
import { hashPassword, isPassword } from '../members/password.ts'
import { submitSetup, testBankAccount } from '../money/payout-setup.ts'
import { getOrCreateSecret, readSecret } from './own-secrets.ts'

/** The address of a new demo seller and its first member. */
const DEMO_EMAIL = 'demo@cardstall.example'

const PASSWORD_CHARACTERS = 20

/**
 * The demo seller's key, which has all scopes and is stored in DATA_DIR. Creates the seller and the key if necessary, so
 * that every start can print a working key.
 */
export function demoKey(ctx: Context): Promise<string> {
  return getOrCreateSecret(ctx.config.dataDir, 'demo-key', {
    isValid: (key) => isActive(ctx, key),
    generate: async () => {
      const accountId = (await findDemoAccount(ctx)) ?? (await createDemoAccount(ctx))
      const { secret } = await createKey(
        ctx,
        accountId,
        { scopes: SCOPES, name: 'Demo' },
        { isAnnounced: false },
      )
      return secret
    },
  })
}

/** The demo seller's key, and the address and password of its first member, who may have changed the address. */
export type DemoAccess = { key: string; email: string; password: string }

/**
 * The key and login of the demo seller. The password is stored in DATA_DIR like the key. Replaces a password that was
 * changed elsewhere, so that every start can print one that works.
 *
 * @throws conflict if the account is closed or has too many keys, validation_error if its first member cannot get a
 *   password because another account has the address
 */
export async function demoAccess(ctx: Context): Promise<DemoAccess> {
  const { dataDir } = ctx.config
  const key = await demoKey(ctx)
  const password = await getOrCreateSecret(dataDir, 'demo-password', {
    isValid: async (password) => {
      const { passwordHash } = await readDemoMember(ctx, key)
      const proven = await readSecret(dataDir, 'demo-password-proof')
      return proven === proof(password, passwordHash) || isPassword(password, passwordHash)
    },
    generate: async () => {
      const password = randomText(PASSWORD_CHARACTERS)
      const { accountId } = await readDemoMember(ctx, key)
      await changeAccount(ctx, accountId, { passwordHash: await hashPassword(password) })
      return password
    },
  })
  const { email, passwordHash } = await readDemoMember(ctx, key)
  const proven = proof(password, passwordHash)
  await getOrCreateSecret(dataDir, 'demo-password-proof', {
    isValid: (stored) => stored === proven,
    generate: () => proven,
  })
  return { key, email, password }
}

/** The login of the demo seller; undefined if a rule refuses it, for example because the operator has closed the shop. */
export async function demoUnlessRefused(ctx: Context): Promise<DemoAccess | undefined> {
  try {
    return await demoAccess(ctx)
  } catch (error) {
    if (!(error instanceof ApiError) || error.status >= 500) throw error
    ctx.log.warn({ err: error }, 'cannot prepare the login of the demo seller; starting without it')
    return undefined
  }
}

/** Proves to the next start that the password has this hash: deriving it again takes a tenth of a second. */
const proof = (password: string, passwordHash: string | null) =>
  hash('sha256', `${password} ${passwordHash}`, 'hex')

type DemoMember = { accountId: number; email: string; passwordHash: string | null }

/** The first member of the key's account; the member that a first password creates, if there is none. */
async function readDemoMember({ db }: Context, key: string): Promise<DemoMember> {
  const [member] = await db<DemoMember[]>`
    select
      a.id as "accountId",
      coalesce(m.email, a.email) as email,
      m.password_hash as "passwordHash"
    from api_keys k
    join accounts a on a.id = k.account_id
    left join members m on m.account_id = a.id
    where k.hash = decode(${hashKey(key)}, 'hex')
    order by m.id
    limit 1
  `
  return member!
}

async function isActive({ db }: Context, key: string): Promise<boolean> {
  const [row] = await db`
    select 1 from api_keys where hash = decode(${hashKey(key)}, 'hex') and revoked_at is null
  `
  return row !== undefined
}

async function findDemoAccount({ db }: Context): Promise<number | undefined> {
  const [row] = await db<
    { id: number }[]
  >`select id from accounts where lower(email) = ${DEMO_EMAIL}`
  return row?.id
}

async function createDemoAccount(ctx: Context): Promise<number> {
  try {
    const account = await createAccount(ctx, {
      shopName: 'Demo Cards',
      email: DEMO_EMAIL,
      business: true,
      payoutVerified: true,
      apiAccess: 'enabled',
      shippingOptions: [
        {
          code: 'parcel',
          name: 'Parcel with label',
          fulfilment: 'platform',
          tracked: true,
          priceCents: 6_95,
          enabled: true,
        },
        {
          code: 'letter',
          name: 'Letter',
          fulfilment: 'self_ship',
          tracked: false,
          priceCents: 1_50,
          enabled: true,
        },
      ],
    })
    const bank = { ...testBankAccount(account.id, account.shopName), password: undefined }
    await submitSetup(ctx, account.id, bank, async () => {})
    return account.id
  } catch (error) {
    // Another process may have created the account.
    const id = error instanceof ApiError ? await findDemoAccount(ctx) : undefined
    if (id === undefined) throw error
    return id
  }
}
