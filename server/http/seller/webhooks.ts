import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Type from 'typebox'
import type { Service } from '../../service.ts'
import { MAX_ENDPOINTS } from '../../webhooks/endpoint.ts'
import { createEndpoint, listEndpoints, removeEndpoint } from '../../webhooks/endpoints.ts'
import { Data, PathId } from '../schema.ts'
import {
  EndpointInput,
  EndpointSchema,
  endpointJson,
  exampleEndpoint,
  NewEndpoint,
} from '../shapes/webhook-endpoint.ts'

export const webhookRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    app.get(
      '/webhooks',
      {
        config: { scope: 'webhooks:manage' },
        schema: {
          operationId: 'listWebhooks',
          summary: 'List your webhook endpoints',
          description: 'Oldest first, disabled ones among them. Not paginated.',
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
          description: `The signing secret is in this answer and nowhere else: keep it. At most ${MAX_ENDPOINTS}, disabled ones among them. How deliveries are signed and tried again: see docs/webhooks.md.`,
          tags: ['Webhooks'],
          body: EndpointInput,
          response: { 201: NewEndpoint },
          'x-errors': ['validation_error'],
          'x-example': {
            data: exampleEndpoint,
            secret: 'svc_whsec_0123456789abcdefghijABCDEFGHIJ0123456789',
          },
        },
      },
      async ({ caller, body }, reply) => {
        const { endpoint, secret } = await createEndpoint(ctx, caller.account.id, body)
        return reply.code(201).send({ data: endpointJson(endpoint), secret })
      },
    )

    app.delete(
      '/webhooks/:webhookEndpoint',
      {
        config: { scope: 'webhooks:manage' },
        schema: {
          operationId: 'deleteWebhook',
          summary: 'Delete a webhook endpoint',
          description: 'For good, with its secret. What still waits for it is not sent.',
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
    done()
  }
