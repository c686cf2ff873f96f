import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Type from 'typebox'
import { listPhotos } from '../../photos/photos.ts'
import type { Service } from '../../service.ts'
import { Data, PathId } from '../schema.ts'
import { PhotoSchema, photoJson } from '../shapes/photo.ts'

export const listingPhotoRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    app.get(
      '/listings/:id/photos',
      {
        schema: {
          operationId: 'listPhotos',
          summary: 'List the photos of a listing',
          description:
            'Returns the state of each of the listing’s `photo_urls`, in their order, also for a deleted listing. Not paginated.',
          tags: ['Listings'],
          params: Type.Object({ id: PathId('The listing') }),
          response: { 200: Data(Type.Array(PhotoSchema), 'The listing’s photos') },
        },
      },
      async ({ params }) => {
        const { publicUrl } = ctx.config
        return {
          data: (await listPhotos(ctx, params.id)).map((photo) => photoJson(publicUrl, photo)),
        }
      },
    )
    done()
  }
