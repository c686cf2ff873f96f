import Type, { type Static } from 'typebox'
import type { Account, AccountChanges, ShippingOption } from '../../accounts/account.ts'
import { API_ACCESS, FULFILMENTS, SELLER_TIERS } from '../../enums.ts'
import type { ApiKey } from '../../keys/keys.ts'
import { SCOPES } from '../../keys/scopes.ts'
import type { Mail } from '../../mail/mail.ts'
import { centsFromEuros, eurosFromCents } from '../../money.ts'
import { PHOTO_STATUSES, type Photo, photoUrl, thumbnailUrl } from '../../photos/photo.ts'
import { timestamp, timestampOrNull } from '../../time/timestamp.ts'
import { component, Euros, FilledText, Nullable, OneOf, Timestamp } from '../schema.ts'

const MAX_SHIPPING_OPTIONS = 50
/** There are six; repeats are accepted within reason. */
const MAX_SCOPES = 1_000
const MAX_EUROS = 99_999.99

const shippingOptionFields = {
  code: FilledText({ maxLength: 50, description: 'Unique within the account' }),
  name: FilledText({ maxLength: 100 }),
  fulfilment: OneOf(FULFILMENTS, {
    description: '`platform`: the service buys the label. `self_ship`: the seller ships.',
  }),
  tracked: Type.Boolean(),
  price: Euros({ maximum: MAX_EUROS, description: 'Decimal euros' }),
  enabled: Type.Boolean(),
}

const ShippingOptionInput = Type.Object(shippingOptionFields)

const ShippingOptionShown = component(
  'ShippingOption',
  Type.Object(shippingOptionFields, { description: 'One way in which a seller sends parcels.' }),
)

const accountInput = {
  shop_name: FilledText({ maxLength: 100 }),
  email: FilledText({
    maxLength: 254,
    pattern: '^[^\\s@]+@[^\\s@]+$',
    description: 'Unique, whatever its casing',
  }),
  slug: FilledText({
    maxLength: 100,
    pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
    description: 'Lower-case letters, digits and single hyphens; unique',
  }),
  password: Nullable(FilledText({ maxLength: 200 }), {
    description: 'For the dashboard’s login; stored as a hash, never shown',
  }),
  business: Type.Boolean(),
  seller_tier: OneOf(SELLER_TIERS),
  payout_verified: Type.Boolean(),
  api_access: OneOf(API_ACCESS),
  rating: Nullable(Type.Number({ minimum: 0, maximum: 5 }), {
    description: 'null without reviews; kept with two decimals',
  }),
  reviews: Type.Integer({ minimum: 0, maximum: 2_147_483_647 }),
  shipping_options: Type.Array(ShippingOptionInput, {
    maxItems: MAX_SHIPPING_OPTIONS,
    description: 'In the order in which buyers see them; replaces all that were there',
  }),
}

const { shop_name, email, ...optional } = accountInput

export const AccountInput = Type.Object(
  {
    shop_name,
    email,
    ...Type.Partial(Type.Object(optional)).properties,
  },
  {
    examples: [
      {
        shop_name: 'Kanto Cards',
        email: 'kanto@shops.example',
        business: true,
        payout_verified: true,
        api_access: 'enabled',
        shipping_options: [
          {
            code: 'letter',
            name: 'Letter',
            fulfilment: 'self_ship',
            tracked: false,
            price: 1.5,
            enabled: true,
          },
        ],
      },
    ],
  },
)

export const AccountPatch = Type.Partial(Type.Object(accountInput), {
  examples: [{ seller_tier: 'Gold', rating: 4.9, reviews: 312 }],
})

export const AccountShown = component(
  'OperatorAccount',
  Type.Object(
    {
      id: Type.Integer(),
      shop_name: Type.String(),
      slug: Type.String(),
      email: Type.String(),
      business: Type.Boolean(),
      seller_tier: OneOf(SELLER_TIERS),
      payout_verified: Type.Boolean(),
      api_access: OneOf(API_ACCESS),
      rating: Nullable(Type.Number()),
      reviews: Type.Integer(),
      shipping_options: Type.Array(ShippingOptionShown),
      created_at: Timestamp(),
    },
    { description: 'A shop on the marketplace.' },
  ),
)

export const KeyInput = Type.Object(
  {
    scopes: Type.Array(OneOf(SCOPES), {
      minItems: 1,
      maxItems: MAX_SCOPES,
      description: 'What the key may do; each counts once',
    }),
    name: Type.Optional(
      Nullable(FilledText({ maxLength: 100 }), { description: 'To tell keys apart' }),
    ),
  },
  { examples: [{ scopes: ['catalog:read', 'listings:read'], name: 'Price tool' }] },
)

export const KeyShown = component(
  'ApiKey',
  Type.Object(
    {
      id: Type.Integer(),
      name: Nullable(Type.String()),
      prefix: Type.String({ description: 'The first characters of the key' }),
      scopes: Type.Array(OneOf(SCOPES)),
      created_at: Timestamp(),
      last_used_at: Nullable(Timestamp()),
      revoked_at: Nullable(Timestamp()),
    },
    { description: 'An API key. The key itself is shown once, when it is made or rotated.' },
  ),
)

export const NewKey = (description: string) =>
  Type.Object(
    {
      data: KeyShown,
      key: Type.String({ description: 'The key itself: shown now and never again' }),
    },
    { description },
  )

export const PhotoShown = component(
  'Photo',
  Type.Object(
    {
      photo_url: Type.String({ description: 'As the seller sent it' }),
      status: OneOf(PHOTO_STATUSES, {
        description:
          '`waiting` for a try, `stored` and attached to the listing, or `failed` for good',
      }),
      error: Nullable(Type.String(), {
        description: 'Why the last try failed, also while another is to come',
      }),
      url: Nullable(Type.String(), { description: 'The stored photo' }),
      thumbnail_url: Nullable(Type.String(), { description: 'As it stands in `photos`' }),
      attempts: Type.Integer({ description: 'Tries begun so far, of three' }),
      next_attempt_at: Nullable(Timestamp(), { description: 'null unless `waiting`' }),
    },
    { description: 'An entry of `photo_urls` and what has become of it.' },
  ),
)

export const MailShown = component(
  'Mail',
  Type.Object(
    {
      to: Type.String(),
      subject: Type.String(),
      text: Type.String({ description: 'The whole mail: there is no HTML' }),
      created_at: Timestamp(),
    },
    { description: 'An e-mail that the service has written.' },
  ),
)

/** The fields of a request as the domain names them; what wasn't sent stays absent. */
export function accountChanges(body: Static<typeof AccountPatch>): AccountChanges {
  return {
    shopName: body.shop_name,
    slug: body.slug,
    email: body.email,
    password: body.password,
    business: body.business,
    sellerTier: body.seller_tier,
    payoutVerified: body.payout_verified,
    apiAccess: body.api_access,
    rating: body.rating,
    reviews: body.reviews,
    shippingOptions: body.shipping_options?.map(({ price, ...option }) => ({
      ...pick(option),
      priceCents: centsFromEuros(price),
    })),
  }
}

/** The known fields of a shipping option, whatever else was sent along. */
const pick = ({
  code,
  name,
  fulfilment,
  tracked,
  enabled,
}: Omit<ShippingOption, 'priceCents'>) => ({
  code,
  name,
  fulfilment,
  tracked,
  enabled,
})

export const accountJson = (account: Account): Static<typeof AccountShown> => ({
  id: account.id,
  shop_name: account.shopName,
  slug: account.slug,
  email: account.email,
  business: account.business,
  seller_tier: account.sellerTier,
  payout_verified: account.payoutVerified,
  api_access: account.apiAccess,
  rating: account.rating,
  reviews: account.reviews,
  shipping_options: account.shippingOptions.map(({ priceCents, ...option }) => ({
    ...pick(option),
    price: eurosFromCents(priceCents),
  })),
  created_at: timestamp(account.createdAt),
})

export const keyJson = (key: ApiKey): Static<typeof KeyShown> => ({
  id: key.id,
  name: key.name,
  prefix: key.prefix,
  scopes: key.scopes,
  created_at: timestamp(key.createdAt),
  last_used_at: timestampOrNull(key.lastUsedAt),
  revoked_at: timestampOrNull(key.revokedAt),
})

export const photoJson = (
  publicUrl: string,
  { url, status, error, name, attempts, nextAttemptAt }: Photo,
): Static<typeof PhotoShown> => ({
  photo_url: url,
  status,
  error,
  url: name && photoUrl(publicUrl, name),
  thumbnail_url: name && thumbnailUrl(publicUrl, name),
  attempts,
  next_attempt_at: timestampOrNull(nextAttemptAt),
})

export const mailJson = ({ to, subject, text, createdAt }: Mail): Static<typeof MailShown> => ({
  to,
  subject,
  text,
  created_at: timestamp(createdAt),
})
