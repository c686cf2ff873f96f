import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Type from 'typebox'
import { findCard, findProduct } from '../../catalog/identifiers.ts'
import { LISTING_STATUSES } from '../../enums.ts'
import { authorizationError } from '../../errors.ts'
import { createListings } from '../../listings/create-listings.ts'
import {
  changeListing,
  listListings,
  removeListing,
  requireListing,
} from '../../listings/listings.ts'
import { centsFromEuros } from '../../money.ts'
import type { Service } from '../../service.ts'
import { parseDateTime } from '../date-time.ts'
import { once } from '../idempotency.ts'
import { idempotencyKeyHeader, idempotencyKeyOf } from '../idempotency-key.ts'
import { sendJson } from '../json.ts'
import { pageEnd, pageExample, pageOf, pageParameters } from '../paginate.ts'
import type { Query } from '../query.ts'
import { refuseInvalid } from '../refuse-invalid.ts'
import { Data, OneOf, Paginated, PathId, Text } from '../schema.ts'
import {
  BulkCreate,
  BulkResultSchema,
  bulkResultJson,
  exampleBulkResult,
  isAccepted,
} from '../shapes/bulk-create.ts'
import { exampleListing, ListingPatch, ListingSchema, listingJson } from '../shapes/listing.ts'
import { readItem } from './read-item.ts'

/** A hundred full items are about 2.4 MiB. */
const BULK_LIMIT_BYTES = 4 * 1024 * 1024

const params = Type.Object({ listing: PathId('The listing’s id') })

export const listingRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    const address = `${ctx.config.publicUrl}/v1/listings`

    app.get(
      '/listings',
      {
        config: { scope: 'listings:read' },
        schema: {
          operationId: 'listListings',
          summary: 'List your listings',
          description:
            'Your own listings, newest first. With `updated_since` in the order in which they changed, for tools that keep a copy: read such a list from its last page to its first, and ask the next time from 30 seconds before the newest `updated_at` of the page you read first. Then nothing is missed, whatever changes meanwhile (see docs/sync.md). Deleted listings are in no list.',
          tags: ['Listings'],
          querystring: Type.Object({
            status: Type.Optional(OneOf(LISTING_STATUSES)),
            updated_since: Type.Optional(
              Text({
                description:
                  'ISO 8601 date or date-time, inclusive; a date is its first second, UTC where no offset is given',
                examples: ['2026-03-01T09:30:00Z'],
              }),
            ),
            card: Type.Optional(
              Text({ maxLength: 100, description: 'Canonical or friendly id of a card' }),
            ),
            product: Type.Optional(
              Text({ maxLength: 150, description: 'Slug of a sealed product' }),
            ),
            ...pageParameters,
          }),
          response: { 200: Paginated(ListingSchema, 'A page of your listings') },
          'x-errors': ['ambiguous_identifier', 'validation_error'],
          'x-example': pageExample('/v1/listings', [exampleListing]),
        },
      },
      async ({ caller: { account }, query: filters }) => {
        const catalog = ctx.catalog.current
        const { status, updated_since, card, product } = filters
        const updatedSince = updated_since && parseDateTime('updated_since', updated_since)
        const wanted = pageOf(filters as Query)
        const { rows, total } = await listListings(
          ctx,
          account.id,
          {
            status,
            updatedSince: updatedSince || undefined,
            cardId: card && findCard(catalog, card, {}).id,
            productSlug: product && findProduct(catalog, product).slug,
          },
          wanted,
        )
        return {
          data: rows.map((listing) => listingJson(listing, account, catalog, ctx.config)),
          ...pageEnd(address, filters as Query, wanted, rows.length, total),
        }
      },
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
            'Each item is checked and saved on its own; the answer is 200 as long as `items` itself is in order, so look at the `status` of each result. Needs a verified payout setup. The body may be 4 MiB long. With an `Idempotency-Key` the request can be repeated safely for 24 hours: the same key and body, byte for byte, give the first answer again and list nothing, the same key with another body is refused.',
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
        const key = idempotencyKeyOf(request)
        if (!account.payoutVerified) throw payoutMissing()
        const answer = await once(
          ctx,
          {
            caller: `account ${account.id}`,
            operation: 'createListings',
            key,
            bodyHash: request.bodyHash,
          },
          async (ctx) => {
            const read = request.body.items.map((item) => readItem(ctx.catalog.current, item))
            const wanted = read.filter(isAccepted)
            const ids = await createListings(ctx, account.id, wanted)
            return { status: 200, body: bulkResultJson(read, ids, account.ships) }
          },
        )
        return sendJson(reply, answer.body)
      },
    )

    app.patch(
      '/listings/:listing',
      {
        config: { scope: 'listings:write' },
        // A listing that isn't there is 404 whatever was sent.
        attachValidation: true,
        schema: {
          operationId: 'changeListing',
          summary: 'Change a listing',
          description:
            'Send only what changes. The status follows from what is asked for and the stock: an active or sold listing is active with stock and sold without, a hidden one stays hidden until `active` is sent, even when `sold` is. A change that changes nothing leaves `updated_at` alone. What the listing is for, its condition, language, printing and photos stay as they are.',
          tags: ['Listings'],
          params,
          body: ListingPatch,
          response: { 200: Data(ListingSchema, 'The listing as it is now') },
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
            'For good; buyers’ carts lose their hold on it. A listing with an open order can’t be deleted until the order completes.',
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
    done()
  }

const payoutMissing = () =>
  authorizationError(
    'Complete and verify the payout setup of this account before you list anything.',
  )
