import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Type from 'typebox'
import { LABEL_STATUSES } from '../../enums.ts'
import type { Service } from '../../service.ts'
import { buyLabel } from '../../shipping/labels.ts'
import { timestampOrNull } from '../../time/timestamp.ts'
import { Data, Nullable, OneOf, PathId, Timestamp } from '../schema.ts'
import { exampleLabel } from '../shapes/examples.ts'
import { SliceDetail } from '../shapes/order.ts'
import { sliceDetail } from '../shapes/slice.ts'

const LabelShown = Type.Object({
  status: OneOf(LABEL_STATUSES, {
    description:
      '`ready`: the PDF is at `label_url`. `processing`: bought, the PDF is still to come, call again shortly. `action_required`: bought, and the carrier does not hand the PDF out until something is mended (see `message`). `self_ship`: you ship with an option of your own, there will be no label.',
  }),
  label_url: Nullable(Type.String(), {
    description:
      'Signed link to the PDF, for everybody who has it; a fresh one with each call. null unless `ready`',
  }),
  expires_at: Nullable(Timestamp(), { description: 'Until when the link is good: five days' }),
  message: Nullable(Type.String(), { description: 'For people: what there is to do' }),
  tracking_code: Nullable(Type.String(), { description: 'Can come later than the label' }),
  tracking_url: Nullable(Type.String()),
  provider: Nullable(Type.String(), { description: 'The carrier platform' }),
  shipped_lines: Type.Integer({
    description:
      'Number of rows that were pending or shipped when the shipment was bought; 0 for `self_ship`',
  }),
  order: SliceDetail,
})

export const labelRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    // Whatever is sent along is read and ignored (§4.13: no body).
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null))

    app.post(
      '/orders/:order/label',
      {
        config: { scope: 'orders:write' },
        schema: {
          operationId: 'buyLabel',
          summary: 'Buy or re-read a shipping label',
          description:
            'For the whole slice, whichever of its rows is addressed. However often and from wherever it is called, one shipment is bought; later calls read it again, with a fresh link. A call while another one is buying waits for its result, up to 10 seconds. After a 502 call again: what may have been bought is looked up first. Emits `order.label_ready` when the shipment is bought, and again when its label or tracking code appears or changes; a call that changes nothing emits nothing. A label can be bought while at least one row is pending or shipped; each row’s tracking code then comes from the label. 409 while the payout setup is not verified, when every row is cancelled, received or disputed and no label was bought, and without a delivery address.',
          tags: ['Orders'],
          params: Type.Object({ order: PathId('Any row of the slice') }),
          response: { 200: Data(LabelShown, 'The label') },
          'x-errors': ['conflict', 'provider_error'],
          // Whatever is sent is ignored, up to the limit of its length.
          'x-body-errors': ['payload_too_large'],
          'x-example': { data: exampleLabel },
        },
      },
      async ({ caller: { account }, params: { order: orderId } }) => {
        const label = await buyLabel(ctx, { account, orderId })
        return {
          data: {
            status: label.status,
            label_url: label.labelUrl,
            expires_at: timestampOrNull(label.expiresAt),
            message: label.message,
            tracking_code: label.trackingCode,
            tracking_url: label.trackingUrl,
            provider: label.provider,
            shipped_lines: label.shippedLines,
            order: await sliceDetail(ctx, account.id, orderId),
          },
        }
      },
    )
    done()
  }
