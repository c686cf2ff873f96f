import Type from 'typebox'
import { cardIdsOf } from '../../catalog/identifiers.ts'
import { getAnyListing, listAllListings } from '../../listings/all-listings.ts'
import { listingNotFound } from '../../listings/listings.ts'
import { takeDownListing } from '../../listings/take-down.ts'
import { listPhotos } from '../../photos/photos.ts'
import type { Service } from '../../service.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import type { App } from '../schema.ts'
import { Data, Id, OneOf, Paginated, PathId, SearchText, Words } from '../schema.ts'
import {
  ANY_STATUSES,
  exampleOperatorListing,
  OperatorListingSchema,
  operatorListingJson,
} from '../shapes/operator-listing.ts'
import { examplePhoto, PhotoSchema, photoJson } from '../shapes/photo.ts'
import { mustExist } from './must-exist.ts'

export function listingPhotoRoutes(app: App, ctx: Service): void {
  app.get(
    '/listings/:id/photos',
    {
      schema: {
        operationId: 'listPhotos',
        summary: 'List the photos of a listing',
        description:
          'Returns the state of each of the listing’s `photo_urls`, in their order, for 30 days also for a deleted listing. Not paginated.',
        tags: ['Listings'],
        params: Type.Object({ id: PathId('The listing') }),
        response: { 200: Data(Type.Array(PhotoSchema), 'The listing’s photos') },
        'x-example': { data: [examplePhoto] },
      },
    },
    async ({ params }) => {
      const { publicUrl } = ctx.config
      return {
        data: (await listPhotos(ctx, params.id)).map((photo) => photoJson(publicUrl, photo)),
      }
    },
  )
}

const params = Type.Object({ id: PathId('The listing') })

/** `/listings`: the listings of all sellers. */
export function operatorListingRoutes(app: App, ctx: Service): void {
  app.get(
    '/listings',
    {
      schema: {
        operationId: 'listAllListings',
        summary: 'Find listings',
        description: 'Returns the listings of all sellers, newest first, also removed ones.',
        tags: ['Listings'],
        querystring: Type.Object({
          account_id: Type.Optional(Id()),
          card: Type.Optional(
            SearchText({ description: 'Canonical or friendly id; all cards that it means' }),
          ),
          product: Type.Optional(SearchText({ description: 'Slug' })),
          status: Type.Optional(OneOf(ANY_STATUSES)),
          ...pageParameters,
        }),
        response: { 200: Paginated(OperatorListingSchema, 'A page of listings') },
        'x-errors': ['validation_error'],
        'x-example': pageExample('/operator/v1/listings', [exampleOperatorListing]),
      },
    },
    async (request) => {
      const { query } = request
      const filters = {
        accountId: query.account_id,
        cardIds: query.card === undefined ? undefined : cardIdsOf(ctx.catalog.current, query.card),
        productSlug: query.product,
        status: query.status,
      }
      return paginated(
        ctx,
        request,
        (page) => listAllListings(ctx, filters, page),
        operatorListingJson,
      )
    },
  )

  app.get(
    '/listings/:id',
    {
      schema: {
        operationId: 'getAnyListing',
        summary: 'Read a listing',
        description: 'Returns removed listings as well.',
        tags: ['Listings'],
        params,
        response: { 200: Data(OperatorListingSchema, 'The listing') },
        'x-example': { data: exampleOperatorListing },
      },
    },
    async ({ params }) => ({ data: operatorListingJson(await getAnyListing(ctx, params.id)) }),
  )

  app.post(
    '/listings/:id/take-down',
    {
      preValidation: mustExist((id) => getAnyListing(ctx, id), listingNotFound),
      schema: {
        operationId: 'takeDownListing',
        summary: 'Take a listing down',
        description:
          'Removes the listing permanently, and e-mails the seller the reason. Its open orders stay. Responds with 409 if it is removed already.',
        tags: ['Listings'],
        params,
        body: Type.Object(
          { reason: Words({ maxLength: 500 }) },
          { examples: [{ reason: 'The photos show another card.' }] },
        ),
        response: { 200: Data(OperatorListingSchema, 'The removed listing') },
        'x-errors': ['conflict', 'validation_error'],
        'x-example': {
          data: {
            ...exampleOperatorListing,
            status: 'removed',
            removed_because: 'The photos show another card.',
          },
        },
      },
    },
    async ({ params, body }) => ({
      data: operatorListingJson(await takeDownListing(ctx, params.id, body.reason)),
    }),
  )
}
