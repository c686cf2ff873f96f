import Type from 'typebox'
import { createKey, listKeys, revokeKey, rotateKey } from '../../keys/keys.ts'
import type { Service } from '../../service.ts'
import { sendOnce } from '../idempotency.ts'
import { idempotencyKeyHeader, secretForOperator } from '../idempotency-key.ts'
import type { App } from '../schema.ts'
import { Data, PathId } from '../schema.ts'
import {
  exampleKey,
  exampleNewKey,
  KeyInput,
  KeySchema,
  keyJson,
  NewKey,
} from '../shapes/api-key.ts'
import { accountExists } from './must-exist.ts'

const REPEATABLE =
  'With an `Idempotency-Key` you can safely repeat the request for 24 hours: the service keeps the response encrypted for this time.'

const account = { id: PathId('The account') }
const accountAndKey = Type.Object({ ...account, key: PathId('The key’s id') })

export function keyRoutes(app: App, ctx: Service): void {
  app.post(
    '/accounts/:id/keys',
    {
      preValidation: accountExists(ctx),
      schema: {
        operationId: 'createKey',
        summary: 'Create an API key',
        description: `Only this response contains the key’s secret; the service stores its hash. Responds with 409 for a closed account, which opens again when its API access is enabled, and for one with 100 keys that aren’t revoked. ${REPEATABLE}`,
        tags: ['Keys'],
        params: Type.Object(account),
        headers: idempotencyKeyHeader,
        body: KeyInput,
        response: { 201: NewKey('The new key') },
        'x-errors': ['conflict', 'validation_error'],
        'x-example': exampleNewKey,
      },
    },
    async (request, reply) => {
      const { params, body } = request
      const identity = secretForOperator(request, `createKey ${params.id}`, params.id)
      return sendOnce(ctx, reply, identity, async (tx) => {
        const { key, secret } = await createKey(tx, params.id, body)
        return { status: 201, body: { data: keyJson(key), key: secret } }
      })
    },
  )

  app.get(
    '/accounts/:id/keys',
    {
      schema: {
        operationId: 'listKeys',
        summary: 'List an account’s API keys',
        description:
          'Returns all keys of the account that aren’t revoked, and the newest 100 revoked ones, oldest first. Not paginated.',
        tags: ['Keys'],
        params: Type.Object(account),
        response: { 200: Data(Type.Array(KeySchema), 'The account’s keys') },
        'x-example': { data: [exampleKey] },
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
        description: `Gives the key a new secret. The previous secret stays valid for 24 more hours; an older secret that is still in its grace period expires at once. Scopes, name and rate limits stay the same. ${REPEATABLE}`,
        tags: ['Keys'],
        params: accountAndKey,
        headers: idempotencyKeyHeader,
        response: { 200: NewKey('The key with its new secret') },
        'x-errors': ['conflict', 'validation_error'],
        'x-example': exampleNewKey,
      },
    },
    async (request, reply) => {
      const { id, key: keyId } = request.params
      const identity = secretForOperator(request, `rotateKey ${id} ${keyId}`, id)
      return sendOnce(ctx, reply, identity, async (tx) => {
        const { key, secret } = await rotateKey(tx, id, keyId)
        return { status: 200, body: { data: keyJson(key), key: secret } }
      })
    },
  )

  app.delete(
    '/accounts/:id/keys/:key',
    {
      schema: {
        operationId: 'revokeKey',
        summary: 'Revoke an API key',
        description:
          'Revokes the key at once, with both secrets of a rotated key. Revoking it again changes nothing.',
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
}
