import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import type { Service } from '../../service.ts'
import { reportTracking, requireSlice } from '../../shipping/tracking.ts'
import type { App } from '../schema.ts'
import { Data, Text } from '../schema.ts'
import { exampleTracking, TrackingInput, TrackingSchema, trackingJson } from '../shapes/tracking.ts'

export function trackingRoutes(app: App, ctx: Service): void {
  app.post(
    '/slices/:slice_key/tracking',
    {
      preValidation: sliceExists(ctx),
      schema: {
        operationId: 'reportTracking',
        summary: 'Report tracking of a slice',
        description:
          'A field that is absent or null stays unchanged: a code is never removed. If a platform label was bought, a new or changed code sends `order.label_ready` again. The URL of an erased buyer’s parcel is not stored.',
        tags: ['Orders'],
        params: Type.Object({ slice_key: Text() }),
        body: TrackingInput,
        response: { 200: Data(TrackingSchema, 'The slice’s tracking after the change') },
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
}

/** A preValidation hook: an unknown slice gets 404 even if the body is invalid. */
const sliceExists = (ctx: Service) => async (request: FastifyRequest) =>
  requireSlice(ctx, (request.params as { slice_key: string }).slice_key)
