import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Type from 'typebox'
import { findOwnListing, listOwnListings } from '../../listings/own-listings.ts'
import type { Service } from '../../service.ts'
import { listingFilters, readListingFilters } from '../listing-filters.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import type { Query } from '../query.ts'
import { Data, Paginated, PathId, Text } from '../schema.ts'
import { exampleOwnListing, OwnListingSchema, ownListingJson } from '../shapes/own-listing.ts'

export const ownListingRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
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
      async ({ caller: { account }, query }) => {
        const catalog = ctx.catalog.current
        const { reference } = query
        const filters = { ...readListingFilters(catalog, query), reference }
        return paginated(
          `${ctx.config.publicUrl}/tools/v1/listings`,
          query as Query,
          (page) => listOwnListings(ctx, account.id, filters, page),
          (listing) => ownListingJson(listing, account, catalog, ctx.config),
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
        return { data: ownListingJson(listing, account, ctx.catalog.current, ctx.config) }
      },
    )
    done()
  }
