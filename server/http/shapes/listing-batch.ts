import Type, { type Static, type TUnsafe } from 'typebox'
import { centsFromEuros, eurosFromCents } from '../../cents.ts'
import { LISTING_STATUSES } from '../../enums.ts'
import { type FieldMessages, validationError } from '../../errors.ts'
import type { BatchedChange } from '../../listings/change-listings.ts'
import { MAX_QUANTITY } from '../../listings/listing.ts'
import type { ItemOutcome, LockedListing, Target } from '../../listings/targets.ts'
import { Currency, component, Discriminated, Id, Nullable, OneOf } from '../schema.ts'
import { messagesOf } from '../validate.ts'
import { ListingPatch } from './listing.ts'
import { reference } from './listing-item.ts'

/** Maximum number of items in one batch. */
const MAX_ITEMS = 1_000

const targetFields = {
  id: Type.Optional({ ...Id(), description: 'The listing’s id' }),
  reference: Type.Optional(reference),
}

const changeFields = {
  ...targetFields,
  reference: Type.Optional(
    Nullable(reference, {
      description:
        'Without `id` it selects the listing. With `id` it is the listing’s new reference; null removes it',
    }),
  ),
  ...ListingPatch.properties,
  quantity_delta: Type.Optional(
    Type.Integer({
      minimum: -MAX_QUANTITY,
      maximum: MAX_QUANTITY,
      description:
        'Units to add to the stock, or to take from it, at the moment of the change: a sale that happens meanwhile is not lost. The item fails if the stock would be below 0, or if units are added and it would be above 999. Excludes `quantity`',
    }),
  ),
}

const ListingChange = component(
  'ListingChange',
  Type.Object(changeFields, {
    description: 'Changes to the listing with this `id` or `reference`. Absent fields stay.',
  }),
)

const ListingTarget = component(
  'ListingTarget',
  Type.Object(targetFields, { description: 'A listing, by its `id` or its `reference`.' }),
)

/** The list alone: each item is validated separately. `x-items` is the published schema of an item. */
const batchOf = (item: object, examples: object[]) =>
  Type.Object(
    {
      items: Type.Unsafe<unknown[]>({
        type: 'array',
        minItems: 1,
        maxItems: MAX_ITEMS,
        'x-items': item,
      }),
    },
    { examples },
  )

export const ListingChanges = batchOf(ListingChange, [
  {
    items: [
      { id: 1, price: 4.5, reference: 'SHELF-4-118' },
      { reference: 'SHELF-4-118', quantity_delta: -1 },
    ],
  },
])

export const ListingDeletions = batchOf(ListingTarget, [
  { items: [{ reference: 'SHELF-5-2' }, { id: 999999 }] },
])

const index = Type.Integer({ description: 'Position of the item in the request, from 0' })

const FailedItem = component(
  'ListingItemFailed',
  Type.Object(
    {
      status: OneOf(['failed'] as const),
      index,
      errors: Type.Record(Type.String(), Type.Array(Type.String()), {
        description: 'Messages by field name',
      }),
    },
    { description: 'The item had no effect.' },
  ),
)

const ChangedItem = component(
  'ListingChanged',
  Type.Object(
    {
      status: OneOf(['changed'] as const),
      index,
      listing: Type.Object({
        id: Type.Integer(),
        reference: Nullable(Type.String()),
        price: Type.Number({ description: 'Price per unit in decimal euros' }),
        currency: Currency,
        quantity: Type.Integer({ description: 'Whole stock: reserved units are not subtracted' }),
        status: OneOf(LISTING_STATUSES),
        description: Nullable(Type.String()),
      }),
    },
    { description: 'The item was applied; a change without effect is not an error.' },
  ),
)

const DeletedItem = component(
  'ListingDeleted',
  Type.Object(
    { status: OneOf(['deleted'] as const), index, id: Type.Integer() },
    { description: 'The listing was deleted.' },
  ),
)

type Failed = Static<typeof FailedItem>

const resultsOf = <S>(success: TUnsafe<S>, status: string) =>
  Type.Array(Discriminated<S | Failed>('status', { [status]: success, failed: FailedItem }), {
    description: 'One result per item, in the order of the request',
  })

export const ChangeResultSchema = component(
  'ListingChangesResult',
  Type.Object(
    {
      results: resultsOf(ChangedItem, 'changed'),
      changed: Type.Integer(),
      failed: Type.Integer(),
    },
    { description: 'The result for each item.' },
  ),
)

export const DeletionResultSchema = component(
  'ListingDeletionsResult',
  Type.Object(
    {
      results: resultsOf(DeletedItem, 'deleted'),
      deleted: Type.Integer(),
      failed: Type.Integer(),
    },
    { description: 'The result for each item.' },
  ),
)

/** An item of a batch that validation refused. */
type Refused = { errors: FieldMessages }

const isRefused = (item: object): item is Refused => 'errors' in item

const changeErrors = messagesOf(Type.Object(changeFields))
const targetErrors = messagesOf(Type.Object(targetFields))

/** Reads one item of a batch of changes. `given` holds known fields only. */
function readListingChange(given: unknown): BatchedChange | Refused {
  if (!isObject(given)) return NOT_AN_OBJECT
  const errors = changeErrors(given)
  if (Object.keys(errors).length > 0) return { errors }
  const { id, reference, price, quantity, quantity_delta, status, description } = given as Static<
    typeof ListingChange
  >
  if (id === undefined && typeof reference !== 'string') return NO_TARGET
  if (quantity !== undefined && quantity_delta !== undefined) return TWO_QUANTITIES
  return {
    target: id === undefined ? { reference: reference as string } : { id },
    changes: {
      priceCents: price === undefined ? undefined : centsFromEuros(price),
      quantity,
      quantityDelta: quantity_delta,
      status,
      description,
      reference: id === undefined ? undefined : reference,
    },
  }
}

/**
 * Reads the change of one listing.
 *
 * @throws validation_error
 */
export function requireListingChange(given: object): BatchedChange {
  const change = readListingChange(given)
  if (isRefused(change)) throw validationError(change.errors)
  return change
}

/** Reads one item of a batch of deletions. */
function readListingTarget(given: unknown): Target | Refused {
  if (!isObject(given)) return NOT_AN_OBJECT
  const errors = targetErrors(given)
  if (Object.keys(errors).length > 0) return { errors }
  const { id, reference } = given as Static<typeof ListingTarget>
  if (id !== undefined) return { id }
  return reference === undefined ? NO_TARGET : { reference }
}

const isObject = (given: unknown): given is object =>
  typeof given === 'object' && given !== null && !Array.isArray(given)

const NOT_AN_OBJECT = { errors: { item: ['The item must be an object.'] } }
const NO_TARGET = { errors: { id: ['Send the id or the reference of a listing.'] } }
const TWO_QUANTITIES = {
  errors: { quantity_delta: ['Send either quantity or quantity_delta.'] },
}

/**
 * Handles the items that validation accepted, and returns the results of all items in order.
 *
 * @param handle the verb; its outcomes are in the order of the items that it gets
 */
async function resultsFor<Item extends object, Result, Json extends { status: string }>(
  read: (Item | Refused)[],
  handle: (accepted: Item[]) => Promise<ItemOutcome<Result>[]>,
  toJson: (result: Result, index: number) => Json,
): Promise<(Json | Failed)[]> {
  const accepted = read.filter((item): item is Item => !isRefused(item))
  const outcomes = accepted.length > 0 ? (await handle(accepted)).values() : [].values()
  return read.map((item, index): Json | Failed => {
    if (isRefused(item)) return { status: 'failed', index, ...item }
    const outcome = outcomes.next().value!
    if ('result' in outcome) return toJson(outcome.result, index)
    const { message, fields } = outcome.error
    const target = 'target' in item ? (item.target as Target) : (item as unknown as Target)
    const errors = (fields as FieldMessages | undefined) ?? {
      ['id' in target ? 'id' : 'reference']: [message],
    }
    return { status: 'failed', index, errors }
  })
}

/** Changes listings with a verb, and returns the response. */
export async function changeResultJson(
  items: unknown[],
  change: (accepted: BatchedChange[]) => Promise<ItemOutcome<LockedListing>[]>,
): Promise<Static<typeof ChangeResultSchema>> {
  const results = await resultsFor(items.map(readListingChange), change, (listing, index) => ({
    status: 'changed' as const,
    index,
    listing: {
      id: listing.id,
      reference: listing.reference,
      price: eurosFromCents(listing.priceCents),
      currency: 'EUR' as const,
      quantity: listing.quantity,
      status: listing.status,
      description: listing.description,
    },
  }))
  const changed = results.filter(({ status }) => status === 'changed').length
  return { results, changed, failed: results.length - changed }
}

/** Deletes listings with a verb, and returns the response. */
export async function deletionResultJson(
  items: unknown[],
  remove: (accepted: Target[]) => Promise<ItemOutcome<number>[]>,
): Promise<Static<typeof DeletionResultSchema>> {
  const results = await resultsFor(items.map(readListingTarget), remove, (id, index) => ({
    status: 'deleted' as const,
    index,
    id,
  }))
  const deleted = results.filter(({ status }) => status === 'deleted').length
  return { results, deleted, failed: results.length - deleted }
}

export const exampleChangeResult = {
  results: [
    {
      status: 'changed',
      index: 0,
      listing: {
        id: 1,
        reference: 'SHELF-4-118',
        price: 4.5,
        currency: 'EUR',
        quantity: 0,
        status: 'sold',
        description: null,
      },
    },
    {
      status: 'failed',
      index: 1,
      errors: { quantity_delta: ['The stock would be -1 units: only 0 are in stock.'] },
    },
  ],
  changed: 1,
  failed: 1,
}

export const exampleDeletionResult = {
  results: [
    { status: 'deleted', index: 0, id: 1205 },
    { status: 'failed', index: 1, errors: { id: ['There is no such listing.'] } },
  ],
  deleted: 1,
  failed: 1,
}
