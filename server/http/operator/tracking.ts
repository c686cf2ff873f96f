import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import type { Service } from '../../service.ts'
import { reportTracking, requireSlice } from '../../shipping/tracking.ts'
import { timestampOrNull } from '../../time/timestamp.ts'
import { Data, FilledText, Nullable, Text, Timestamp } from '../schema.ts'

const TrackingInput = Type.Object(
  {
    tracking_code: Type.Optional(Nullable(FilledText({ maxLength: 100 }))),
    tracking_url: Type.Optional(
      Nullable(FilledText({ maxLength: 2048, pattern: '^https?://' }), {
        description: 'Where the parcel can be followed: http or https',
      }),
    ),
    status: Type.Optional(
      Nullable(FilledText({ maxLength: 200 }), { description: 'In the carrier’s words' }),
    ),
  },
  {
    examples: [
      {
        tracking_code: '3SABCD1234567',
        tracking_url: 'https://carrier.example/track/3SABCD1234567',
        status: 'En route to sorting center',
      },
    ],
  },
)

const TrackingShown = Type.Object({
  slice_key: Type.String(),
  tracking_code: Nullable(Type.String()),
  tracking_url: Nullable(Type.String()),
  status: Nullable(Type.String()),
  updated_at: Nullable(Timestamp()),
})

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
          response: { 200: Data(TrackingShown, 'The slice’s tracking as it is now') },
          'x-errors': ['validation_error'],
          'x-example': {
            data: {
              slice_key: 'slc_p1Jm0KQ8yVn3xXo2bT5sWg',
              tracking_code: '3SABCD1234567',
              tracking_url: 'https://carrier.example/track/3SABCD1234567',
              status: 'En route to sorting center',
              updated_at: '2026-03-01T09:30:00Z',
            },
          },
        },
      },
      async ({ params: { slice_key }, body }) => {
        const { code, url, status, updatedAt } = await reportTracking(ctx, slice_key, {
          trackingCode: body.tracking_code ?? undefined,
          trackingUrl: body.tracking_url ?? undefined,
          status: body.status ?? undefined,
        })
        return {
          data: {
            slice_key,
            tracking_code: code,
            tracking_url: url,
            status,
            updated_at: timestampOrNull(updatedAt),
          },
        }
      },
    )
    done()
  }

/** Answers 404 for a slice that isn't there before its body is looked at. */
const sliceExists = (ctx: Service) => async (request: FastifyRequest) =>
  requireSlice(ctx, (request.params as { slice_key: string }).slice_key)
