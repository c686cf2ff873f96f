import Type, { type Static } from 'typebox'
import type { Account } from '../../accounts/account.ts'
import type { Config } from '../../config.ts'
import { SELLER_TIERS } from '../../enums.ts'
import type { Caller } from '../../keys/key-cache.ts'
import { SCOPES } from '../../keys/scopes.ts'
import { timestamp } from '../../time/timestamp.ts'
import { component, OneOf, Timestamp } from '../schema.ts'

/** Fields that do not depend on the credential in use. */
export const shopFields = {
  id: Type.Integer(),
  shop_name: Type.String(),
  slug: Type.String(),
  seller_tier: OneOf(SELLER_TIERS),
  business: Type.Boolean(),
}

export const MeSchema = component(
  'Account',
  Type.Object(
    {
      ...shopFields,
      scopes: Type.Array(OneOf(SCOPES), { description: 'Scopes of the key in use' }),
      key_prefix: Type.String({ description: 'The first characters of the key in use' }),
      last_used_at: Timestamp({ description: 'Updated at most once a minute' }),
      rate_limit: Type.Object(
        { read: Type.Integer(), write: Type.Integer() },
        {
          description:
            'Maximum number of requests in a window of 60 seconds. A window begins with each minute of Unix time. GET and HEAD count as reads, all other methods as writes.',
        },
      ),
    },
    { description: 'The account of the key in use, and the key itself.' },
  ),
)

export const shopJson = (
  account: Pick<Account, 'id' | 'shopName' | 'slug' | 'sellerTier' | 'business'>,
) => ({
  id: account.id,
  shop_name: account.shopName,
  slug: account.slug,
  seller_tier: account.sellerTier,
  business: account.business,
})

export const meJson = (
  { account, scopes, prefix, lastUsedAt }: Caller,
  { rateLimit }: Pick<Config, 'rateLimit'>,
  now: Date,
): Static<typeof MeSchema> => ({
  ...shopJson(account),
  scopes,
  key_prefix: prefix,
  last_used_at: timestamp(lastUsedAt ?? now),
  rate_limit: rateLimit,
})

export const exampleMe = {
  id: 1,
  shop_name: 'Demo Cards',
  slug: 'demo-cards',
  seller_tier: 'Gold',
  business: true,
  scopes: ['catalog:read', 'listings:read'],
  key_prefix: 'svc_live_a1B2',
  last_used_at: '2026-03-01T09:30:00Z',
  rate_limit: { read: 600, write: 120 },
}
