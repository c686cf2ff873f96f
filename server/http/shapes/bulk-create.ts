import Type, { type Static } from 'typebox'
import type { CardCandidate as Candidate } from '../../catalog/identifiers.ts'
import { eurosFromCents } from '../../cents.ts'
import { ApiError, type FieldMessages } from '../../errors.ts'
import type { CreatedId, NewListing } from '../../listings/create-listings.ts'
import { exampleCardCandidates } from '../openapi-errors.ts'
import { CardCandidate, Currency, component, Discriminated, OneOf } from '../schema.ts'
import { ListingItem, OwnListingItem } from './listing-item.ts'

/** Items of one bulk create (§4.9). */
export const MAX_ITEMS = 100

const exampleBulkCreate = {
  items: [
    {
      card: 'swsh9-18',
      condition: 'NM',
      language: 'EN',
      printing: 'holo',
      price: 4.5,
      quantity: 3,
      description: 'Straight from the booster into a sleeve',
    },
    {
      card: 'brs_18',
      condition: 'G',
      grading_company: 'PSA',
      grading_grade: '9.5',
      language: 'EN',
      price: 120,
      quantity: 1,
    },
    { product: 'brilliant-stars-booster-box', language: 'EN', price: 159.95, quantity: 2 },
  ],
}

/**
 * The body of a bulk create (§4.9). This schema validates the list alone; `readItem` validates each item separately.
 * `x-items` is the published schema of an item.
 */
export const bulkCreateOf = (item: object, example: object, maxItems = MAX_ITEMS) =>
  Type.Object(
    {
      items: Type.Unsafe<unknown[]>({
        type: 'array',
        minItems: 1,
        maxItems,
        'x-items': item,
      }),
    },
    { examples: [example] },
  )

export const BulkCreate = bulkCreateOf(ListingItem, exampleBulkCreate)

export const exampleOwnItems = {
  items: exampleBulkCreate.items.map((item, index) => ({ ...item, reference: `SHELF-5-${index}` })),
}

/** The body of a bulk create whose items may have references. */
export const OwnBulkCreate = bulkCreateOf(OwnListingItem, exampleOwnItems)

const CreatedListing = Type.Object({
  id: Type.Integer(),
  price: Type.Number({ description: 'Price per unit in decimal euros, after rounding' }),
  currency: Currency,
  quantity: Type.Integer(),
  status: OneOf(['active'] as const),
})

/** The field of a refused item whose card is ambiguous. */
export const candidates = Type.Optional(
  Type.Array(CardCandidate, {
    description: 'Cards that share the friendly id, at most 25. Only if there are several',
  }),
)

const index = Type.Integer({ description: 'Position of the item in the request, from 0' })

const CreatedResult = component(
  'ListingCreated',
  Type.Object(
    { status: OneOf(['created'] as const), index, listing: CreatedListing },
    { description: 'The item was listed.' },
  ),
)

const FailedResult = component(
  'ListingFailed',
  Type.Object(
    {
      status: OneOf(['failed'] as const),
      index,
      errors: Type.Record(Type.String(), Type.Array(Type.String()), {
        description: 'Messages by field name',
      }),
      candidates,
    },
    { description: 'The item was not listed.' },
  ),
)

export const BulkResultSchema = component(
  'BulkCreateResult',
  Type.Object(
    {
      results: Type.Array(
        Discriminated<Static<typeof CreatedResult> | Static<typeof FailedResult>>('status', {
          created: CreatedResult,
          failed: FailedResult,
        }),
        { description: 'One result per item, in the order of the request' },
      ),
      created: Type.Integer(),
      failed: Type.Integer(),
      warnings: Type.Optional(
        Type.Array(Type.String(), {
          description:
            'A problem of the account that prevents sales: no shipping option is enabled, so nobody can order. Absent without one',
        }),
      ),
    },
    { description: 'The result for each item.' },
  ),
)

/** An item that fails validation: messages by field, and candidates for an ambiguous card. */
export type RefusedItem = { errors: FieldMessages; candidates?: Candidate[] }

export const isAccepted = (item: NewListing | RefusedItem): item is NewListing =>
  !('errors' in item)

/** A warning for an account that may list, but whose listings can't be ordered. */
export const NO_SHIPPING =
  'No shipping option of this account is enabled, so buyers cannot order its listings yet.'

/** @param ids of the accepted items, in order; null or an error for an item that was not saved */
export function bulkResultJson(
  read: (NewListing | RefusedItem)[],
  ids: CreatedId[],
  ships: boolean,
) {
  const remaining = ids.values()
  const results = read.map((item, index) => {
    if (!isAccepted(item)) return { status: 'failed', index, ...item }
    const id = remaining.next().value
    if (id instanceof ApiError) {
      return { status: 'failed', index, errors: id.fields as FieldMessages }
    }
    if (!id) return { status: 'failed', index, errors: { item: ['The item could not be saved.'] } }
    return {
      status: 'created',
      index,
      listing: {
        id,
        price: eurosFromCents(item.priceCents),
        currency: 'EUR',
        quantity: item.quantity,
        status: 'active',
      },
    }
  })
  const created = results.filter(({ status }) => status === 'created').length
  return {
    results,
    created,
    failed: results.length - created,
    ...(ships ? {} : { warnings: [NO_SHIPPING] }),
  }
}

/** The friendly id in the example of the request is ambiguous once a second language is imported. */
export const exampleRefusedItem = {
  errors: {
    card: [
      'The identifier "brs_18" means 2 cards. Narrow it with language_hint, or use a canonical id.',
    ],
  },
  candidates: exampleCardCandidates,
}

export const exampleBulkResult = {
  results: [
    {
      status: 'created',
      index: 0,
      listing: { id: 1204, price: 4.5, currency: 'EUR', quantity: 3, status: 'active' },
    },
    { status: 'failed', index: 1, ...exampleRefusedItem },
    {
      status: 'created',
      index: 2,
      listing: { id: 1205, price: 159.95, currency: 'EUR', quantity: 2, status: 'active' },
    },
  ],
  created: 2,
  failed: 1,
}
