import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Type from 'typebox'
import { createKey, listKeys, revokeKey, rotateKey } from '../../keys/keys.ts'
import type { Service } from '../../service.ts'
import { Data, PathId } from '../schema.ts'
import { KeyInput, KeySchema, keyJson, NewKey } from '../shapes/api-key.ts'
import { accountExists } from './account-exists.ts'

const account = { id: PathId('The account') }
const accountAndKey = Type.Object({ ...account, key: PathId('The key’s id') })

export const keyRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    app.post(
      '/accounts/:id/keys',
      {
        preValidation: accountExists(ctx),
        schema: {
          operationId: 'createKey',
          summary: 'Make an API key',
          description:
            'The key itself is in this answer and nowhere else; only its hash is stored.',
          tags: ['Keys'],
          params: Type.Object(account),
          body: KeyInput,
          response: { 201: NewKey('The new key') },
          'x-errors': ['validation_error'],
        },
      },
      async ({ params, body }, reply) => {
        const { key, secret } = await createKey(ctx, params.id, body)
        return reply.code(201).send({ data: keyJson(key), key: secret })
      },
    )

    app.get(
      '/accounts/:id/keys',
      {
        schema: {
          operationId: 'listKeys',
          summary: 'List an account’s API keys',
          description: 'Oldest first, revoked ones among them. Not paginated.',
          tags: ['Keys'],
          params: Type.Object(account),
          response: { 200: Data(Type.Array(KeySchema), 'The account’s keys') },
        },
      },
      async ({ params }) => ({ data: (await listKeys(ctx, params.id)).map(keyJson) }),
    )

    app.post(
      '/accounts/:id/keys/:key/rotate',
      {
        schema: {
          operationId: 'rotateKey',
          summary: 'Rotate an API key',
          description:
            'Gives the key a new secret. The previous one works 24 hours more; one that was still in such a grace ends now. Scopes, name and limits stay.',
          tags: ['Keys'],
          params: accountAndKey,
          response: { 200: NewKey('The key with its new secret') },
          'x-errors': ['conflict'],
        },
      },
      async ({ params }) => {
        const { key, secret } = await rotateKey(ctx, params.id, params.key)
        return { data: keyJson(key), key: secret }
      },
    )

    app.delete(
      '/accounts/:id/keys/:key',
      {
        schema: {
          operationId: 'revokeKey',
          summary: 'Revoke an API key',
          description:
            'At once, for both secrets of a rotated key. Revoking again changes nothing.',
          tags: ['Keys'],
          params: accountAndKey,
          response: { 204: Type.Null({ description: 'Revoked' }) },
        },
      },
      async ({ params }, reply) => {
        await revokeKey(ctx, params.id, params.key)
        return reply.code(204).send(null)
      },
    )
    done()
  }
