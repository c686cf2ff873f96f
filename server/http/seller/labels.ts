import Type from 'typebox'
import type { Service } from '../../service.ts'
import { getLabeledSlice } from '../../shipping/labeled-slice.ts'
import { buyLabel } from '../../shipping/labels.ts'
import type { App } from '../schema.ts'
import { Data, PathId } from '../schema.ts'
import { exampleLabel, LabelSchema, labelJson } from '../shapes/label.ts'

export function labelRoutes(app: App, ctx: Service): void {
  // Any body is read and ignored (§4.13: no body).
  app.removeAllContentTypeParsers()
  // Fastify refuses a malformed type before it looks for a parser.
  app.addHook('onRequest', ({ headers }, _reply, done) => {
    delete headers['content-type']
    done()
  })
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null))

  app.post(
    '/orders/:order/label',
    {
      config: { scope: 'orders:write', isRepeatable: true },
      schema: {
        operationId: 'buyLabel',
        summary: 'Buy or re-read a shipping label',
        description:
          'Buys one shipment for the whole slice, whichever of its rows you name. Repeated and concurrent calls never buy a second one: they read the shipment again and return a new link. If another call is buying, this one waits for its result for up to 10 seconds. After a 502, call again: the service first looks up whether the shipment was bought. Sends `order.label_ready` when the shipment is bought, and again whenever its label or tracking code appears or changes. A label can be bought while at least one row is pending or shipped; the tracking code of each row then comes from the label. Responds with 409 if the payout setup is not verified, if all rows are cancelled, received or disputed and no label was bought, if the order has no delivery address, or if another call is still buying after these 10 seconds: repeat the request then.',
        tags: ['Orders'],
        params: Type.Object({ order: PathId('Any row of the slice') }),
        response: { 200: Data(LabelSchema, 'The label') },
        'x-errors': ['conflict', 'provider_error'],
        // The body is ignored, but its length is limited.
        'x-body-errors': ['payload_too_large'],
        'x-example': { data: exampleLabel },
      },
    },
    async ({ caller: { account }, params: { order: orderId } }) => {
      const label = await buyLabel(ctx, { account, orderId })
      return { data: labelJson(label, await getLabeledSlice(ctx, account.id, orderId)) }
    },
  )
}
