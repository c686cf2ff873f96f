import { hash } from 'node:crypto'
import Type, { type Static, type TSchema } from 'typebox'
import type { Catalog } from '../../catalog/catalog.ts'
import { eurosFromCents } from '../../cents.ts'
import { inTransaction } from '../../database/in-transaction.ts'
import { LANGUAGES, LISTING_STATUSES } from '../../enums.ts'
import { validationError } from '../../errors.ts'
import { changeOneListing } from '../../listings/change-listings.ts'
import { MAX_QUANTITY } from '../../listings/listing.ts'
import { findListing, listListings } from '../../listings/listings.ts'
import { removeListing } from '../../listings/remove-listings.ts'
import type { Service } from '../../service.ts'
import { catalogAfterWrite } from '../catalog-after-write.ts'
import { MAX_KEY_LENGTH, PRINTABLE } from '../idempotency-key.ts'
import { IgnoredFields, knownFields } from '../known-fields.ts'
import { readListingFilters } from '../listing-filters.ts'
import { createItems } from '../listings/create-items.ts'
import { withItems } from '../listings/with-items.ts'
import { Data, Nullable, OneOf, Text } from '../schema.ts'
import { BulkCreate, isAccepted, MAX_ITEMS } from '../shapes/bulk-create.ts'
import { itemOf } from '../shapes/catalog-item.ts'
import { ListingPatch, ListingSchema, listingFields, listingJson } from '../shapes/listing.ts'
import { requireListingChange } from '../shapes/listing-batch.ts'
import { cardFields, description, gradedFields, itemFields } from '../shapes/listing-item.ts'
import { readItem } from '../shapes/read-item.ts'
import { IdInput, PageOf, pageInput, pageOf } from './fields.ts'
import { fits, MAX_RESULT_BYTES, pageResult, resultBytes } from './result-size.ts'
import { salesWarnings } from './sales-warnings.ts'
import { READS, type SellerCall, tool } from './tool.ts'

const listingInput = { listing: IdInput('Id of a listing') }

/** A field with another description: `tools/list` must stay small. */
const shortly = <Field extends TSchema>(field: Field, description: string) =>
  Type.Unsafe<Static<Field>>({ ...field, description })

const listTool = tool({
  name: 'list_listings',
  title: 'List own listings',
  description: 'Lists own listings, newest first, in stock or not.',
  scope: 'listings:read',
  input: {
    status: Type.Optional(OneOf(LISTING_STATUSES, { description: 'Default all' })),
    card: Type.Optional(Text({ maxLength: 100, description: 'Only of this card' })),
    product: Type.Optional(Text({ maxLength: 150, description: 'Only of this product' })),
    updated_since: Type.Optional(
      Text({
        description:
          'Changed since this ISO 8601 time, UTC without an offset; the last page has the latest',
      }),
    ),
    ...pageInput,
  },
  output: PageOf(Type.Omit(Type.Object(listingFields), ['seller'])),
  effect: READS,
  async run(ctx, { page, per_page, ...given }, { account }: SellerCall) {
    const filters = readListingFilters(ctx.catalog.current, given)
    const wanted = pageOf({ page, per_page })
    const found = listListings(ctx, account.id, filters, wanted)
    const { rows, total } = await withItems(ctx, found)
    const listings = rows.map((listing) => {
      const { seller, ...shown } = listingJson(listing, account, ctx.catalog.current, ctx.config)
      return shown
    })
    return pageResult(listings, total, wanted)
  },
})

/** An item as a model writes it. `readItem` checks each one on its own, as in `POST /listings`. */
const Item = Type.Object(
  {
    card: Type.Optional(Text({ description: 'Card id from search_cards. Either card or product' })),
    product: Type.Optional(Text({ description: 'Slug from search_products' })),
    condition: Type.Optional(
      shortly(
        cardFields.condition,
        'Required for cards: mint, near mint, lightly, moderately or heavily played, damaged; G is graded by a company, never “good”. Ask what “excellent”, “good” or “played” means',
      ),
    ),
    language: shortly(itemFields.language, 'Language printed on the card or product'),
    price: Type.Number({ description: 'Euros per unit, 0.01 to 99,999.99' }),
    quantity: Type.Integer({ minimum: 1, maximum: MAX_QUANTITY, description: 'Units in stock' }),
    printing: cardFields.printing,
    grading_company: Type.Optional(gradedFields.grading_company),
    grading_grade: Type.Optional(
      Text({ description: '10.0 to 1.0 in steps of 0.5. Both only for condition G' }),
    ),
    description: Type.Optional(Text({ description: 'For buyers, up to 1,000 characters' })),
    photo_urls: Type.Optional(
      Type.Array(Text(), { maxItems: 10, description: 'Public URLs of images' }),
    ),
    language_hint: Type.Optional(
      OneOf(LANGUAGES, { description: 'Language of the set, if a friendly id means several' }),
    ),
  },
  { additionalProperties: false },
)

const createTool = tool({
  name: 'create_listings',
  title: 'List cards for sale',
  description:
    'Puts 1 to 100 cards or sealed products up for sale. First call it with `preview: true`: nothing is written, and each result shows the card found or what is wrong. After the seller agrees, call again without it, with each `item.card` as `card`, and an `idempotency_key`. Items succeed or fail one by one, so check each `status`. If the call itself fails, repeat it with the same key within 24 hours: nothing is listed twice.',
  scope: 'listings:write',
  input: {
    items: Type.Unsafe<unknown[]>({
      type: 'array',
      minItems: 1,
      maxItems: MAX_ITEMS,
      description: 'What to list',
      'x-items': Item,
    }),
    preview: Type.Optional(Type.Boolean({ description: 'Default false' })),
    idempotency_key: Type.Optional(
      Text({
        minLength: 1,
        maxLength: MAX_KEY_LENGTH,
        description:
          'A new random text for each list that the seller approves; the same one only to repeat a failed call. Required without preview',
      }),
    ),
  },
  output: Type.Object({
    results: Type.Array(
      Type.Object({
        status: OneOf(['created', 'would_create', 'failed'] as const),
        index: Type.Integer(),
        listing: Type.Optional(
          Type.Object({
            id: Type.Optional(Type.Integer()),
            price: Type.Number(),
            currency: Type.String(),
            quantity: Type.Integer(),
            status: Type.String(),
          }),
        ),
        item: Type.Optional(
          Type.Object({
            card: Nullable(Type.String()),
            product: Nullable(Type.String()),
            name: Type.String(),
            details: Type.String(),
            language: Nullable(Type.String()),
          }),
        ),
        errors: Type.Optional(Type.Record(Type.String(), Type.Array(Type.String()))),
        candidates: Type.Optional(Type.Array(Type.Unknown())),
      }),
    ),
    created: Type.Integer(),
    failed: Type.Integer(),
    warnings: Type.Optional(Type.Array(Type.String())),
  }),
  effect: { destructive: false, idempotent: true },
  async run(ctx, { items: given, preview = false, idempotency_key: key }, { account }: SellerCall) {
    const ignored = new IgnoredFields()
    const { items } = known({ items: given }, ignored) as { items: unknown[] }
    const warnings = [
      ...(ignored.header === undefined ? [] : [`Unknown fields: ${ignored.header}.`]),
      ...salesWarnings(ctx, { account }),
    ]
    if (preview) {
      return cutResults(previewOf(ctx.catalog.current, items, warnings))
    }
    if (key === undefined) throw validationError({ idempotency_key: [KEY_REQUIRED] })
    if (!PRINTABLE.test(key)) throw validationError({ idempotency_key: [KEY_PRINTABLE] })
    const { body, repeated } = await createItems(ctx, account, items, {
      caller: `account ${account.id}`,
      operation: 'create_listings',
      key,
      keyName: 'idempotency_key',
      bodyHash: hash('sha256', JSON.stringify(items)),
    })
    // The stored warnings are those of the first call, and don't know of a holiday.
    const { warnings: _, ...result }: BulkResult = JSON.parse(body)
    return cutResults(withWarnings(result, [...(repeated ? [REPEATED] : []), ...warnings]))
  },
})

const known = knownFields(BulkCreate)

const KEY_REQUIRED =
  'The idempotency_key field is required without preview: then a repeated call lists nothing twice.'
const REPEATED =
  'These are the results of an earlier call with this idempotency_key: nothing was listed now. For further units use a new key.'
const KEY_PRINTABLE = 'The idempotency_key field must be printable ASCII characters.'

type ItemResult = {
  status: string
  index: number
  errors?: Record<string, string[]>
  candidates?: unknown[]
}

type BulkResult = { results: ItemResult[]; created: number; failed: number; warnings?: string[] }

/** The outcome that the items would have. Nothing is written. */
function previewOf(catalog: Catalog, items: unknown[], warnings: string[]): BulkResult {
  const results = items.map((given, index) => {
    const item = readItem(catalog, given)
    if (!isAccepted(item)) return { status: 'failed', index, ...item } as ItemResult
    const { priceCents, quantity, condition, language, printing } = item
    const price = eurosFromCents(priceCents)
    const { image, ...found } = itemOf(catalog, item)!
    return {
      status: 'would_create',
      index,
      item: found,
      listing: {
        price,
        currency: 'EUR',
        quantity,
        condition,
        language,
        printing,
        status: 'active',
      },
    }
  })
  const failed = results.filter(({ status }) => status === 'failed').length
  return withWarnings({ results, created: 0, failed }, warnings)
}

const withWarnings = (result: BulkResult, warnings: string[]): BulkResult =>
  warnings.length > 0 ? { ...result, warnings } : result

/** Room that is kept for each result: the bytes of a new listing or a short message. */
const SHORT_RESULT_BYTES = 350

/** Shortens the results that don't fit, but never those of new listings, because their ids must arrive. */
function cutResults(result: BulkResult): BulkResult {
  if (fits(JSON.stringify(result))) return result
  const { results, ...rest } = result
  let room = MAX_RESULT_BYTES - resultBytes(rest) - results.length * SHORT_RESULT_BYTES
  return {
    ...rest,
    results: results.map((each) => {
      const more = Math.max(resultBytes(each) - SHORT_RESULT_BYTES, 0)
      if (each.status === 'created' || more <= room) {
        room -= more
        return each
      }
      const { status, index } = each
      return { status, index, ...(status === 'failed' ? { errors: NOT_SHOWN } : {}) }
    }),
  }
}

const NOT_SHOWN = { item: ['Not valid. Preview fewer items to see why.'] }

const changeTool = tool({
  name: 'change_listing',
  title: 'Change a listing',
  description:
    'Changes price, stock, status or description of a listing. Send only what changes. A hidden listing keeps its stock. If a call fails, read the listing before you repeat it.',
  scope: 'listings:write',
  input: {
    ...listingInput,
    price: Type.Optional(shortly(ListingPatch.properties.price, 'Euros per unit')),
    quantity: Type.Optional(
      shortly(
        ListingPatch.properties.quantity,
        'Whole stock, counted now: units sold since you read it would be on sale again. 0 means sold out',
      ),
    ),
    quantity_delta: Type.Optional(
      Type.Integer({
        description:
          'Units to add to the stock, or to take from it. Use it unless the seller has counted the stock',
      }),
    ),
    status: Type.Optional(
      shortly(
        ListingPatch.properties.status,
        'hidden takes it off sale until you send active; sold follows from quantity 0',
      ),
    ),
    // Not null: programs that fill each optional field with null would remove it.
    description: Type.Optional(shortly(description, 'An empty text removes it')),
  },
  output: Data(ListingSchema, 'The listing after the change'),
  // A repeated quantity_delta counts twice. A repeated quantity puts units that were sold meanwhile on sale again.
  effect: { destructive: true, idempotent: false },
  async run(ctx: Service, { listing: id, ...fields }, { account }: SellerCall) {
    const change = requireListingChange({ ...fields, id })
    const listing = await inTransaction(ctx, async (tx) => {
      await changeOneListing(tx, account.id, change)
      return findListing(tx, account.id, id)
    })
    await catalogAfterWrite(ctx, ctx.catalog.include([listing]))
    return { data: listingJson(listing, account, ctx.catalog.current, ctx.config) }
  },
})

const deleteTool = tool({
  name: 'delete_listing',
  title: 'Delete a listing',
  description:
    'Deletes a listing permanently. To take it off sale for a while, change its status to hidden instead.',
  scope: 'listings:write',
  input: listingInput,
  output: Type.Object({ deleted: Type.Boolean() }),
  effect: { destructive: true, idempotent: false },
  async run(ctx: Service, { listing }, { account }: SellerCall) {
    await removeListing(ctx, account.id, listing)
    return { deleted: true }
  },
})

export const listingTools = [listTool, createTool, changeTool, deleteTool]
