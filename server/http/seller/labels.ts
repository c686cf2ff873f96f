import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Type from 'typebox'
import type { Service } from '../../service.ts'
import { getLabeledSlice } from '../../shipping/labeled-slice.ts'
import { buyLabel } from '../../shipping/labels.ts'
import { Data, PathId } from '../schema.ts'
import { exampleLabel, LabelSchema, labelJson } from '../shapes/label.ts'

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
          response: { 200: Data(LabelSchema, 'The label') },
          'x-errors': ['conflict', 'provider_error'],
          // Whatever is sent is ignored, up to the limit of its length.
          'x-body-errors': ['payload_too_large'],
          'x-example': { data: exampleLabel },
        },
      },
      async ({ caller: { account }, params: { order: orderId } }) => {
        const label = await buyLabel(ctx, { account, orderId })
        return { data: labelJson(label, await getLabeledSlice(ctx, account.id, orderId)) }
      },
    )
    done()
  }
