import Type from 'typebox'
import type { Service } from '../../service.ts'
import { MAX_ENDPOINTS } from '../../webhooks/endpoint.ts'
import { createEndpoint, listEndpoints, removeEndpoint } from '../../webhooks/endpoints.ts'
import { sendOnce } from '../idempotency.ts'
import { idempotencyKeyHeader, secretForKey } from '../idempotency-key.ts'
import type { App } from '../schema.ts'
import { Data, PathId } from '../schema.ts'
import {
  EndpointInput,
  EndpointSchema,
  endpointJson,
  exampleEndpoint,
  NewEndpoint,
} from '../shapes/webhook-endpoint.ts'

export function webhookRoutes(app: App, ctx: Service): void {
  app.get(
    '/webhooks',
    {
      config: { scope: 'webhooks:manage' },
      schema: {
        operationId: 'listWebhooks',
        summary: 'List your webhook endpoints',
        description: 'Returns all endpoints, oldest first, including disabled ones. Not paginated.',
        tags: ['Webhooks'],
        response: { 200: Data(Type.Array(EndpointSchema), 'Your endpoints') },
        'x-example': { data: [exampleEndpoint] },
      },
    },
    async ({ caller }) => ({
      data: (await listEndpoints(ctx, caller.account.id)).map(endpointJson),
    }),
  )

  app.post(
    '/webhooks',
    {
      config: { scope: 'webhooks:manage' },
      schema: {
        operationId: 'createWebhook',
        summary: 'Register a webhook endpoint',
        description: `Only this response contains the signing secret: store it. An account can have at most ${MAX_ENDPOINTS} endpoints, including disabled ones. Signatures and retries are described in docs/webhooks.md. With an \`Idempotency-Key\` you can safely repeat the request for 24 hours: the response has the same secret.`,
        tags: ['Webhooks'],
        headers: idempotencyKeyHeader,
        body: EndpointInput,
        response: { 201: NewEndpoint },
        'x-errors': ['validation_error'],
        'x-example': {
          data: exampleEndpoint,
          secret: 'svc_whsec_0123456789abcdefghijABCDEFGHIJ0123456789',
        },
      },
    },
    async (request, reply) => {
      const { caller, body } = request
      const identity = secretForKey(request, 'createWebhook')
      return sendOnce(ctx, reply, identity, async (tx) => {
        const { endpoint, secret } = await createEndpoint(tx, caller.account.id, body)
        return { status: 201, body: { data: endpointJson(endpoint), secret } }
      })
    },
  )

  app.delete(
    '/webhooks/:webhookEndpoint',
    {
      config: { scope: 'webhooks:manage' },
      schema: {
        operationId: 'deleteWebhook',
        summary: 'Delete a webhook endpoint',
        description:
          'Deletes the endpoint and its secret permanently. Pending deliveries are not sent.',
        tags: ['Webhooks'],
        params: Type.Object({ webhookEndpoint: PathId('The endpoint’s id') }),
        response: { 204: Type.Null({ description: 'Deleted' }) },
      },
    },
    async ({ caller, params }, reply) => {
      await removeEndpoint(ctx, caller.account.id, params.webhookEndpoint)
      return reply.code(204).send(null)
    },
  )
}
