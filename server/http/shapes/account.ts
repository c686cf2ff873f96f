import { hash } from 'node:crypto'
import Type, { type Static } from 'typebox'
import type { Account, AccountChanges, ShippingOption } from '../../accounts/account.ts'
import { centsFromEuros, eurosFromCents } from '../../cents.ts'
import { API_ACCESS, FULFILMENTS, SELLER_TIERS } from '../../enums.ts'
import { validationError } from '../../errors.ts'
import { isCountry } from '../../text/countries.ts'
import { ADDRESS_PATTERN } from '../../text/mailbox.ts'
import { timestamp, timestampOrNull } from '../../time/timestamp.ts'
import {
  COUNTRY_IN_CAPITALS,
  component,
  DateTimeText,
  Euros,
  FilledText,
  Line,
  Nullable,
  OneOf,
  SLUG,
  Text,
  Timestamp,
} from '../schema.ts'

const MAX_SHIPPING_OPTIONS = 50

const MAX_EUROS = 99_999.99
const MAX_VALUE_EUROS = 9_999_999.99
const MAX_COUNTRIES = 250

const shippingOptionFields = {
  code: FilledText({ maxLength: 50, description: 'Unique within the account' }),
  name: Type.String(),
  fulfilment: OneOf(FULFILMENTS, {
    description:
      '`platform`: the service buys the label. `self_ship`: the seller ships with their own option.',
  }),
  tracked: Type.Boolean(),
  price: Euros({ maximum: MAX_EUROS, description: 'Price in decimal euros' }),
  enabled: Type.Boolean(),
}

const COUNTRIES = 'ISO codes of the countries that it delivers to'
const MAX_VALUE = 'Highest value of the goods in decimal euros'

const limits = (countries: object = {}, value: object = {}) => ({
  countries: Type.Array(Text({ pattern: COUNTRY_IN_CAPITALS, examples: ['NL'] }), {
    minItems: 1,
    maxItems: MAX_COUNTRIES,
    description: COUNTRIES,
    ...countries,
  }),
  max_value: Euros({ maximum: MAX_VALUE_EUROS, description: MAX_VALUE, ...value }),
})

/** Limits that can be null, for none. */
const orNull = ({ countries, max_value }: ReturnType<typeof limits>, more = '') => ({
  countries: Nullable(countries, { description: `${COUNTRIES}; null for all${more}` }),
  max_value: Nullable(max_value, { description: `${MAX_VALUE}; null for any` }),
})

/** Options that were stored before the limits were this strict are published as they are. */
const limitFields = limits()
const limitInput = orNull(
  limits({ uniqueItems: true }, { minimum: 0.01 }),
  '. A code that no country has is refused',
)

const ShippingOptionInput = Type.Object({
  ...shippingOptionFields,
  name: Line({ maxLength: 100 }),
  ...Type.Partial(Type.Object(limitInput)).properties,
})

export const ShippingOptionsInput = Type.Array(ShippingOptionInput, {
  maxItems: MAX_SHIPPING_OPTIONS,
  description: 'In the order in which buyers see them. Replaces all former shipping options',
})

const ShippingOptionSchema = component(
  'ShippingOption',
  Type.Object(
    { ...shippingOptionFields, ...Type.Partial(Type.Object(limitFields)).properties },
    {
      description:
        'A shipping option of a seller. `countries` and `max_value` are absent without such a limit.',
    },
  ),
)

export const OwnShippingOptionSchema = component(
  'OwnShippingOption',
  Type.Object(
    { ...shippingOptionFields, ...orNull(limitFields) },
    { description: 'A shipping option of your shop.' },
  ),
)

const holidayFields = {
  on: Type.Boolean({ description: 'Whether the shop is hidden and sells nothing' }),
}

export const HolidayBody = Type.Object(holidayFields, { examples: [{ on: true }] })

export const HolidaySchema = component(
  'Holiday',
  Type.Object(holidayFields, { description: 'The holiday mode of your shop.' }),
)

const exampleOption = {
  code: 'letter',
  name: 'Letter',
  fulfilment: 'self_ship' as const,
  tracked: false,
  price: 1.5,
  enabled: true,
}

export const exampleShippingOptions = [{ ...exampleOption, countries: ['NL', 'BE'], max_value: 25 }]

/** A body that replaces the shipping options. */
export const ShippingOptionsBody = Type.Object(
  { shipping_options: ShippingOptionsInput },
  { examples: [{ shipping_options: exampleShippingOptions }] },
)

/** An e-mail address in a request: one that e-mail can be sent to. */
export const Email = (options: object = {}) =>
  FilledText({ maxLength: 254, pattern: ADDRESS_PATTERN, ...options })

/** The name of a shop in a request. It is in e-mails to buyers, where a line break would start a paragraph of its own. */
export const ShopName = () => Line({ maxLength: 100 })

const accountInput = {
  shop_name: ShopName(),
  email: Email({ description: 'Unique, ignoring case' }),
  slug: FilledText({
    maxLength: 100,
    pattern: SLUG,
    description: 'Lower-case letters, digits and single hyphens. Unique',
  }),
  password: Nullable(FilledText({ maxLength: 200 }), {
    description:
      'Password of the first member, who signs in to the dashboard with it. Null removes it. A change ends the member’s sessions and the access of their programs. Stored as a hash and never shown',
  }),
  business: Type.Boolean(),
  seller_tier: OneOf(SELLER_TIERS),
  payout_verified: Type.Boolean(),
  api_access: OneOf(API_ACCESS),
  rating: Nullable(Type.Number({ minimum: 0, maximum: 5 }), {
    description:
      'Average rating of reviews from elsewhere, stored with two decimals; null without any. They count as imported reviews',
  }),
  reviews: Type.Integer({ minimum: 0, maximum: 2_147_483_647 }),
  shipping_options: ShippingOptionsInput,
}

const { shop_name, email, ...optional } = accountInput

const exampleInput = {
  shop_name: 'Kanto Cards',
  email: 'kanto@shops.example',
  business: true,
  api_access: 'enabled' as const,
  shipping_options: [exampleOption],
}

export const AccountInput = Type.Object(
  {
    shop_name,
    email,
    ...Type.Partial(Type.Object(optional)).properties,
  },
  { examples: [exampleInput] },
)

const exampleChanges = { seller_tier: 'Gold' as const, rating: 4.9, reviews: 312 }

export const AccountPatch = Type.Partial(
  Type.Object({
    ...accountInput,
    closed_at: Nullable(DateTimeText(), {
      description:
        'The `closed_at` of the account that you have seen. With it, `api_access` can’t open an account that another person has closed meanwhile: the request fails with 409',
    }),
  }),
  { examples: [exampleChanges] },
)

export const AccountSchema = component(
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
      rating: Nullable(Type.Number(), { description: 'Of the imported reviews, as entered' }),
      reviews: Type.Integer({ description: 'Number of imported reviews, as entered' }),
      shipping_options: Type.Array(ShippingOptionSchema),
      created_at: Timestamp(),
      closed_at: Nullable(Timestamp(), {
        description: 'null while the account is open, also after it was opened again',
      }),
    },
    { description: 'A shop on the marketplace.' },
  ),
)

/**
 * Options in a request, mapped to the domain's names.
 *
 * @throws validation_error for two options with one code, and for countries that don't exist
 */
export function shippingOptions(options: Static<typeof ShippingOptionsInput>): ShippingOption[] {
  const seen = new Set<string>()
  for (const [index, { code, countries }] of options.entries()) {
    if (seen.has(code)) {
      const field = `shipping_options.${index}.code`
      throw validationError({ [field]: [`The ${field} field repeats the code "${code}".`] })
    }
    seen.add(code)
    const unknown = countries?.filter((country) => !isCountry(country)) ?? []
    if (unknown.length > 0) {
      const field = `shipping_options.${index}.countries`
      const message = `The ${field} field has codes that no country has: ${unknown.join(', ')}.`
      throw validationError({ [field]: [message] })
    }
  }
  return options.map(({ price, countries = null, max_value: maxValue = null, ...option }) => ({
    ...pick(option),
    priceCents: centsFromEuros(price),
    countries,
    maxValueCents: maxValue === null ? null : centsFromEuros(maxValue),
  }))
}

/** Maps the fields of a request, except the password, to the domain's names. An absent field stays undefined. */
export function accountChanges(body: Static<typeof AccountPatch>): AccountChanges {
  return {
    shopName: body.shop_name,
    slug: body.slug,
    email: body.email,
    business: body.business,
    sellerTier: body.seller_tier,
    payoutVerified: body.payout_verified,
    apiAccess: body.api_access,
    rating: body.rating,
    reviews: body.reviews,
    shippingOptions: body.shipping_options && shippingOptions(body.shipping_options),
  }
}

/** Distinguishes a list of shipping options from another one of the account. */
export const shippingOptionsVersion = (options: ShippingOption[]): string =>
  hash('sha256', JSON.stringify(options.map(ownShippingOptionJson)), 'base64url')

/** The known fields of a shipping option, in the published order. */
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

export const ownShippingOptionJson = ({
  priceCents,
  countries = null,
  maxValueCents,
  ...option
}: ShippingOption): Static<typeof OwnShippingOptionSchema> => ({
  ...pick(option),
  price: eurosFromCents(priceCents),
  countries,
  max_value: maxValueCents == null ? null : eurosFromCents(maxValueCents),
})

export const accountJson = (account: Account): Static<typeof AccountSchema> => ({
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
    ...(option.countries ? { countries: option.countries } : {}),
    ...(option.maxValueCents != null ? { max_value: eurosFromCents(option.maxValueCents) } : {}),
  })),
  created_at: timestamp(account.createdAt),
  closed_at: timestampOrNull(account.closedAt),
})

export const exampleAccount: Static<typeof AccountSchema> = {
  id: 12,
  ...exampleInput,
  payout_verified: false,
  slug: 'kanto-cards',
  seller_tier: 'Bronze',
  rating: null,
  reviews: 0,
  created_at: '2026-03-01T09:30:00Z',
  closed_at: null,
}

export const exampleChangedAccount = { ...exampleAccount, ...exampleChanges }
