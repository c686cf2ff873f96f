import Type, { type Static } from 'typebox'
import { MAX_TRACKING } from '../../carriers/carrier.ts'
import type { Tracking } from '../../orders/order.ts'
import { timestampOrNull } from '../../time/timestamp.ts'
import { FilledText, Nullable, PAGE_ADDRESS, Timestamp, Words } from '../schema.ts'

export const TrackingInput = Type.Object(
  {
    tracking_code: Type.Optional(Nullable(Words({ maxLength: MAX_TRACKING.code }))),
    tracking_url: Type.Optional(
      Nullable(FilledText({ maxLength: MAX_TRACKING.url, pattern: PAGE_ADDRESS }), {
        description: 'http or https URL of the carrier’s tracking page',
      }),
    ),
    status: Type.Optional(
      Nullable(Words({ maxLength: MAX_TRACKING.status }), {
        description: 'Status in the carrier’s words',
      }),
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

export const TrackingSchema = Type.Object({
  slice_key: Type.String(),
  tracking_code: Nullable(Type.String()),
  tracking_url: Nullable(Type.String()),
  status: Nullable(Type.String()),
  updated_at: Nullable(Timestamp()),
})

export const trackingJson = (
  sliceKey: string,
  { code, url, status, updatedAt }: Tracking,
): Static<typeof TrackingSchema> => ({
  slice_key: sliceKey,
  tracking_code: code,
  tracking_url: url,
  status,
  updated_at: timestampOrNull(updatedAt),
})

export const exampleTracking = {
  slice_key: 'slc_p1Jm0KQ8yVn3xXo2bT5sWg',
  tracking_code: '3SABCD1234567',
  tracking_url: 'https://carrier.example/track/3SABCD1234567',
  status: 'En route to sorting center',
  updated_at: '2026-03-01T09:30:00Z',
}
