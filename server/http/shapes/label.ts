import Type, { type Static } from 'typebox'
import { LABEL_STATUSES } from '../../enums.ts'
import type { Label } from '../../shipping/label.ts'
import type { LabeledSlice } from '../../shipping/labeled-slice.ts'
import { timestampOrNull } from '../../time/timestamp.ts'
import { Nullable, OneOf, Timestamp } from '../schema.ts'
import { exampleOrder } from './order.ts'
import { exampleSlice, SliceSchema, sliceJson } from './slice.ts'

/** The fields of the response, except the slice. */
export const labelFields = {
  status: OneOf(LABEL_STATUSES, {
    description:
      '`ready`: the PDF is at `label_url`. `processing`: the label is bought, and the PDF is not available yet (call again shortly) or a cancellation of the shipment was requested (see `message`, and don’t use the label). `action_required`: the label is bought, and the carrier withholds the PDF until a problem is fixed, or has cancelled the shipment (see `message`). `self_ship`: you ship with your own option, so there is no label.',
  }),
  label_url: Nullable(Type.String(), {
    description:
      'Signed link to the PDF, new with each call. Anyone who has the link can download the PDF. null unless `ready`',
  }),
  expires_at: Nullable(Timestamp(), {
    description: 'Expiry of the link: five days after the call',
  }),
  message: Nullable(Type.String(), { description: 'Explanation for people: what to do next' }),
  tracking_code: Nullable(Type.String(), { description: 'Can be available later than the label' }),
  tracking_url: Nullable(Type.String()),
  provider: Nullable(Type.String(), { description: 'Carrier platform' }),
  shipped_lines: Type.Integer({
    description:
      'Number of rows that were pending or shipped when the shipment was bought; 0 for `self_ship`',
  }),
}

export const LabelSchema = Type.Object({ ...labelFields, order: SliceSchema })

export const labelJson = (label: Label, slice: LabeledSlice): Static<typeof LabelSchema> => ({
  ...labelFieldsJson(label),
  order: sliceJson(slice),
})

export const labelFieldsJson = (label: Label) => ({
  status: label.status,
  label_url: label.labelUrl,
  expires_at: timestampOrNull(label.expiresAt),
  message: label.message,
  tracking_code: label.trackingCode,
  tracking_url: label.trackingUrl,
  provider: label.provider,
  shipped_lines: label.shippedLines,
})

/** Belongs to another slice than `exampleSlice`, with platform shipping. */
export const exampleLabel = {
  status: 'ready',
  label_url:
    'https://cards.example/labels/Zk0oY3n8vQ2mT7dR1sWxLA.pdf?expires=1772789400&nonce=4Jm0KQ8yVn3xXo2bT5sWgA&signature=3f9Xk2LqzVw0aBcDeFgHiJkLmNoPqRsTuVwXyZ01234',
  expires_at: '2026-03-06T09:30:00Z',
  message: null,
  tracking_code: '3SABCD1234567',
  tracking_url: 'https://carrier.example/track/3SABCD1234567',
  provider: 'sendcloud',
  shipped_lines: 1,
  order: {
    ...exampleSlice,
    orders: [
      {
        ...exampleOrder,
        status: 'pending',
        shipped_at: null,
        tracking: {
          ...exampleOrder.tracking,
          url: 'https://carrier.example/track/3SABCD1234567',
          updated_at: '2026-03-01T09:30:00Z',
          fulfilment: 'platform',
        },
      },
    ],
    totals: { ...exampleSlice.totals, seller_net: 8.64 },
    shipping: {
      ...exampleSlice.shipping,
      paid_to: 'platform',
      seller_share: 0,
      provider: 'sendcloud',
      has_label: true,
      label_url:
        'https://cards.example/labels/Zk0oY3n8vQ2mT7dR1sWxLA.pdf?expires=1772789400&nonce=4Jm0KQ8yVn3xXo2bT5sWgA&signature=3f9Xk2LqzVw0aBcDeFgHiJkLmNoPqRsTuVwXyZ01234',
      expires_at: '2026-03-06T09:30:00Z',
    },
  },
}
