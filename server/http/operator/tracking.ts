import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import type { Service } from '../../service.ts'
import { reportTracking, requireSlice } from '../../shipping/tracking.ts'
import { Data, Text } from '../schema.ts'
import { exampleTracking, TrackingInput, TrackingSchema, trackingJson } from '../shapes/tracking.ts'

export const trackingRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    app.post(
      '/slices/:slice_key/tracking',
      {
        preValidation: sliceExists(ctx),
        schema: {
          operationId: 'reportTracking',
          summary: 'Report what the carrier says',
          description:
            'What is left out or null stays as it is: a code is never taken away. A first code after a platform label was bought, or another one, emits `order.label_ready` again.',
          tags: ['Orders'],
          params: Type.Object({ slice_key: Text() }),
          body: TrackingInput,
          response: { 200: Data(TrackingSchema, 'The slice’s tracking as it is now') },
          'x-errors': ['validation_error'],
          'x-example': { data: exampleTracking },
        },
      },
      async ({ params: { slice_key }, body }) => {
        const tracking = await reportTracking(ctx, slice_key, {
          trackingCode: body.tracking_code ?? undefined,
          trackingUrl: body.tracking_url ?? undefined,
          status: body.status ?? undefined,
        })
        return { data: trackingJson(slice_key, tracking) }
      },
    )
    done()
  }

/** Answers 404 for a slice that isn't there before its body is looked at. */
const sliceExists = (ctx: Service) => async (request: FastifyRequest) =>
  requireSlice(ctx, (request.params as { slice_key: string }).slice_key)
