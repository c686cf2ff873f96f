import Type from 'typebox'
import { centsFromEuros } from '../../cents.ts'
import { changeListing, listListings, requireListing } from '../../listings/listings.ts'
import { removeListing } from '../../listings/remove-listings.ts'
import type { Service } from '../../service.ts'
import { BULK_LIMIT_BYTES } from '../body.ts'
import { catalogAfterWrite } from '../catalog-after-write.ts'
import type { FastLane } from '../fast-lane.ts'
import { idempotencyKeyHeader, repeatable } from '../idempotency-key.ts'
import { sendJson, sendStored } from '../json.ts'
import { listingFilters, readListingFilters } from '../listing-filters.ts'
import { createItems } from '../listings/create-items.ts'
import { withItems } from '../listings/with-items.ts'
import { pageExample, pageParameters, paginatedText } from '../paginate.ts'
import type { Query } from '../query.ts'
import { refuseInvalid } from '../refuse-invalid.ts'
import type { App } from '../schema.ts'
import { Data, Paginated, PathId } from '../schema.ts'
import { BulkCreate, BulkResultSchema, exampleBulkResult } from '../shapes/bulk-create.ts'
import { exampleListing, ListingPatch, ListingSchema, listingJson } from '../shapes/listing.ts'
import { listingWriter } from '../shapes/listing-text.ts'
import { type OwnRead, ownRead } from './own-reads.ts'

const params = Type.Object({ listing: PathId('The listing’s id') })

export function listingRoutes(app: App, ctx: Service, lane: Pick<FastLane, 'add'>): void {
  const write = listingWriter(ctx.config)
  const list: OwnRead = {
    route: '/v1/listings',
    scope: 'listings:read',
    querystring: Type.Object({ ...listingFilters, ...pageParameters }),
    async respond({ account }, query) {
      const filters = readListingFilters(ctx.catalog.current, query)
      return paginatedText(
        `${ctx.config.publicUrl}/v1/listings`,
        query,
        (page) => withItems(ctx, listListings(ctx, account.id, filters, page)),
        (listing) => write(listing, account, ctx.catalog.current),
      )
    },
  }
  lane.add(ownRead(list))
  app.get(
    '/listings',
    {
      config: { scope: list.scope },
      schema: {
        operationId: 'listListings',
        summary: 'List your listings',
        description:
          'Returns your own listings, newest first. With `updated_since`, listings come in the order of their last change, for tools that keep a copy. Read the pages from the last to the first, and start the next synchronisation 30 seconds before the newest `updated_at` on the first page that you read. This way you miss no change that happens meanwhile (see docs/sync.md). Deleted listings are not included.',
        tags: ['Listings'],
        querystring: list.querystring,
        response: { 200: Paginated(ListingSchema, 'A page of your listings') },
        'x-errors': ['ambiguous_identifier', 'validation_error'],
        'x-example': pageExample('/v1/listings', [exampleListing]),
      },
    },
    async ({ caller, query }, reply) =>
      sendJson(reply, Buffer.from(await list.respond(caller, query as Query), 'latin1')),
  )

  app.post(
    '/listings',
    {
      bodyLimit: BULK_LIMIT_BYTES,
      config: { scope: 'listings:write' },
      schema: {
        operationId: 'createListings',
        summary: 'List stock in bulk',
        description:
          'Validates and saves each item separately. The response is 200 if `items` itself is valid, so check the `status` of each result. The account needs a verified payout setup. The body can have up to 4 MiB. With an `Idempotency-Key` you can safely repeat the request for 24 hours: the same key with the same bytes returns the first response and lists nothing; the same key with another body is refused.',
        tags: ['Listings'],
        headers: idempotencyKeyHeader,
        body: BulkCreate,
        response: { 200: BulkResultSchema },
        'x-errors': ['validation_error'],
        'x-example': exampleBulkResult,
      },
    },
    async (request, reply) => {
      const { account } = request.caller
      const identity = repeatable(request, `account ${account.id}`, 'createListings')
      const response = await createItems(ctx, account, request.body.items, identity)
      return sendStored(reply, response)
    },
  )

  app.patch(
    '/listings/:listing',
    {
      config: { scope: 'listings:write' },
      // An unknown listing gets 404 even if the body is invalid: see refuseInvalid.
      attachValidation: true,
      schema: {
        operationId: 'changeListing',
        summary: 'Change a listing',
        description:
          'Send only the fields that change. The new status depends on the requested status and the stock: an active or sold listing is active with stock and sold without stock; a hidden listing stays hidden until you send `active`, even if you send `sold`. A request that changes nothing keeps `updated_at`. If no response arrives, read the listing before you send a `quantity` again: a unit that was sold meanwhile would be on sale again. The card or product, condition, language, printing and photos of a listing cannot be changed.',
        tags: ['Listings'],
        params,
        body: ListingPatch,
        response: { 200: Data(ListingSchema, 'The listing after the change') },
        'x-errors': ['validation_error'],
        'x-example': { data: exampleListing },
      },
    },
    async (request) => {
      const { account } = request.caller
      const { listing: id } = request.params
      await refuseInvalid(request, id, (id) => requireListing(ctx, account.id, id))
      const { price, quantity, status, description } = request.body
      const listing = await changeListing(ctx, account.id, id, {
        priceCents: price === undefined ? undefined : centsFromEuros(price),
        quantity,
        status,
        description,
      })
      await catalogAfterWrite(ctx, ctx.catalog.include([listing]))
      return { data: listingJson(listing, account, ctx.catalog.current, ctx.config) }
    },
  )

  app.delete(
    '/listings/:listing',
    {
      config: { scope: 'listings:write' },
      schema: {
        operationId: 'deleteListing',
        summary: 'Delete a listing',
        description:
          'Deletes the listing permanently, with the reservations of buyers’ carts. A listing with an open order cannot be deleted until the order is completed.',
        tags: ['Listings'],
        params,
        response: { 204: Type.Null({ description: 'Deleted' }) },
        'x-errors': ['conflict'],
      },
    },
    async ({ caller, params }, reply) => {
      await removeListing(ctx, caller.account.id, params.listing)
      return reply.code(204).send(null)
    },
  )
}
