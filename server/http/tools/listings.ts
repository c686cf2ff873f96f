import Type from 'typebox'
import { changeListings } from '../../listings/change-listings.ts'
import { findOwnListing, listOwnListings } from '../../listings/own-listings.ts'
import { removeListings } from '../../listings/remove-listings.ts'
import type { Service } from '../../service.ts'
import { countWrites } from '../authenticate.ts'
import { BULK_LIMIT_BYTES } from '../body.ts'
import { sendOnce } from '../idempotency.ts'
import { idempotencyKeyHeader, repeatable } from '../idempotency-key.ts'
import { sendStored } from '../json.ts'
import { listingFilters, readListingFilters } from '../listing-filters.ts'
import { createItems } from '../listings/create-items.ts'
import { withItems } from '../listings/with-items.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import type { App } from '../schema.ts'
import { Data, Paginated, PathId, Text } from '../schema.ts'
import { BulkResultSchema, exampleBulkResult, OwnBulkCreate } from '../shapes/bulk-create.ts'
import {
  CheckedItem,
  checkItems,
  exampleCheckedItems,
  ItemsToCheck,
} from '../shapes/checked-item.ts'
import {
  ChangeResultSchema,
  changeResultJson,
  DeletionResultSchema,
  deletionResultJson,
  exampleChangeResult,
  exampleDeletionResult,
  ListingChanges,
  ListingDeletions,
} from '../shapes/listing-batch.ts'
import { exampleOwnListing, OwnListingSchema, ownListingJson } from '../shapes/own-listing.ts'

export function ownListingRoutes(app: App, ctx: Service): void {
  app.get(
    '/listings',
    {
      config: { scope: 'listings:read' },
      schema: {
        operationId: 'listOwnListings',
        summary: 'List your listings with their references',
        description:
          'Returns your own listings in the order of `GET /v1/listings`, with `reference` and `photos_failed`. `updated_since` works as described there.',
        tags: ['Listings'],
        querystring: Type.Object({
          ...listingFilters,
          reference: Type.Optional(
            Text({ maxLength: 100, description: 'Only the listing with this reference' }),
          ),
          ...pageParameters,
        }),
        response: { 200: Paginated(OwnListingSchema, 'A page of your listings') },
        'x-errors': ['ambiguous_identifier', 'validation_error'],
        'x-example': pageExample('/tools/v1/listings', [exampleOwnListing]),
      },
    },
    async (request) => {
      const { account } = request.caller
      const { reference } = request.query
      const filters = { ...readListingFilters(ctx.catalog.current, request.query), reference }
      return paginated(
        ctx,
        request,
        (page) => withItems(ctx, listOwnListings(ctx, account.id, filters, page)),
        (listing) => ownListingJson(listing, account, ctx.catalog.current, ctx.config),
      )
    },
  )

  app.get(
    '/listings/:listing',
    {
      config: { scope: 'listings:read' },
      schema: {
        operationId: 'getOwnListing',
        summary: 'Read a listing with its reference',
        tags: ['Listings'],
        params: Type.Object({ listing: PathId('The listing’s id') }),
        response: { 200: Data(OwnListingSchema, 'The listing') },
        'x-example': { data: exampleOwnListing },
      },
    },
    async ({ caller: { account }, params }) => {
      const listing = await findOwnListing(ctx, account.id, params.listing)
      await ctx.catalog.include([listing])
      return { data: ownListingJson(listing, account, ctx.catalog.current, ctx.config) }
    },
  )

  app.post(
    '/listings',
    {
      bodyLimit: BULK_LIMIT_BYTES,
      config: { scope: 'listings:write' },
      schema: {
        operationId: 'createOwnListings',
        summary: 'List stock in bulk, with references',
        description:
          'As `POST /v1/listings`, with an optional `reference` for each item. An item whose reference another of your listings has fails. With an `Idempotency-Key` you can safely repeat the request for 24 hours.',
        tags: ['Listings'],
        headers: idempotencyKeyHeader,
        body: OwnBulkCreate,
        response: { 200: BulkResultSchema },
        'x-errors': ['validation_error'],
        'x-example': exampleBulkResult,
      },
    },
    async (request, reply) => {
      const { account } = request.caller
      const identity = repeatable(request, `account ${account.id}`, 'createOwnListings')
      const response = await createItems(ctx, account, request.body.items, identity)
      return sendStored(reply, response)
    },
  )

  app.post(
    '/listings/checks',
    {
      bodyLimit: BULK_LIMIT_BYTES,
      config: { scope: 'listings:write' },
      schema: {
        operationId: 'checkListings',
        summary: 'Check items before listing them',
        description:
          'Checks 1 to 500 items as `POST /tools/v1/listings` would, and lists nothing. An entry has the card or product of its item, or messages by field. To list exactly that card, send its canonical id (`item.card`) without `language_hint`: an import of the catalog can give a friendly id to another card. Whether a reference is free is only known when it is listed.',
        tags: ['Listings'],
        body: ItemsToCheck,
        response: { 200: Data(Type.Array(CheckedItem), 'One entry per item, in order') },
        'x-errors': ['validation_error'],
        'x-example': { data: exampleCheckedItems },
      },
    },
    async ({ body }) => ({ data: checkItems(ctx.catalog.current, body.items) }),
  )

  app.post(
    '/listings/changes',
    {
      bodyLimit: BULK_LIMIT_BYTES,
      config: { scope: 'listings:write' },
      schema: {
        operationId: 'changeListings',
        summary: 'Change listings in bulk',
        description:
          'Changes 1 to 1,000 listings, each named by its `id` or its `reference`. Each item succeeds or fails on its own, in the order of the request; the response is 200 if `items` itself is valid, so check the `status` of each result. Status and stock follow the rules of `PATCH /v1/listings/{listing}`. Counts as one write for each 100 items. With an `Idempotency-Key` you can safely repeat the request for 24 hours, which matters for `quantity_delta`.',
        tags: ['Listings'],
        headers: idempotencyKeyHeader,
        body: ListingChanges,
        response: { 200: ChangeResultSchema },
        'x-errors': ['validation_error'],
        'x-example': exampleChangeResult,
      },
    },
    async (request, reply) => {
      const { account, subjects } = request.caller
      const { items } = request.body
      const identity = repeatable(request, `account ${account.id}`, 'changeListings')
      await countWrites(ctx, reply, subjects.write, furtherWrites(items))
      return sendOnce(ctx, reply, identity, async (tx) => ({
        status: 200,
        body: await changeResultJson(items, (accepted) => changeListings(tx, account.id, accepted)),
      }))
    },
  )

  app.post(
    '/listings/deletions',
    {
      bodyLimit: BULK_LIMIT_BYTES,
      config: { scope: 'listings:write' },
      schema: {
        operationId: 'deleteListings',
        summary: 'Delete listings in bulk',
        description:
          'Deletes 1 to 1,000 listings permanently, each named by its `id` or its `reference`, by the rules of `DELETE /v1/listings/{listing}`. Each item succeeds or fails on its own. Counts as one write for each 100 items. With an `Idempotency-Key` a repeated request returns the first response.',
        tags: ['Listings'],
        headers: idempotencyKeyHeader,
        body: ListingDeletions,
        response: { 200: DeletionResultSchema },
        'x-errors': ['validation_error'],
        'x-example': exampleDeletionResult,
      },
    },
    async (request, reply) => {
      const { account, subjects } = request.caller
      const { items } = request.body
      const identity = repeatable(request, `account ${account.id}`, 'deleteListings')
      await countWrites(ctx, reply, subjects.write, furtherWrites(items))
      return sendOnce(ctx, reply, identity, async (tx) => ({
        status: 200,
        body: await deletionResultJson(items, (targets) => removeListings(tx, account.id, targets)),
      }))
    },
  )
}

/** Writes that a batch counts as, in addition to its request. */
const furtherWrites = (items: unknown[]) => Math.ceil(items.length / 100) - 1
