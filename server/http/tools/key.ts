import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { authenticationError } from '../../errors.ts'
import { revokeKey } from '../../keys/keys.ts'
import { addressSubject } from '../../limits/address.ts'
import type { Access } from '../../oauth/access.ts'
import type { Service } from '../../service.ts'
import { bearerOf, refusalOf, showLimit, tooMany } from '../authenticate.ts'
import type { App } from '../schema.ts'
import { exampleNewKey, KeyInput, keyJson, NewKey } from '../shapes/api-key.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The access of the command line, on the one route that takes its token instead of a key. */
    deviceAccess: Access
  }
}

/** `DELETE /tools/v1/key`. */
export function ownKeyRoutes(app: App, ctx: Service): void {
  app.delete(
    '/key',
    {
      config: { scope: null },
      schema: {
        operationId: 'revokeOwnKey',
        summary: 'Revoke the key of this request',
        description: 'Revokes the key at once, with both secrets of a rotated key. Needs no scope.',
        tags: ['Keys'],
        response: { 204: Type.Null({ description: 'Revoked' }) },
      },
    },
    async ({ caller }, reply) => {
      await revokeKey(ctx, caller.account.id, caller.keyId)
      return reply.code(204).send(null)
    },
  )
}

/** `POST /tools/v1/key`. Its caller has no key yet, so the guard of keys doesn't cover it. */
export function newKeyRoutes(app: App, ctx: Service): void {
  app.decorateRequest('deviceAccess')
  app.post(
    '/key',
    {
      onRequest: authenticateDevice(ctx),
      schema: {
        operationId: 'createOwnKey',
        summary: 'Create a key after a device login',
        description:
          'For the command line only: takes the access token of a device login (RFC 8628) instead of a key, and returns a key with scopes that the member has allowed. The token then ends. Responds with 409 if the account has 100 keys that aren’t revoked. Only this response contains the key’s secret. Needs no scope.',
        tags: ['Keys'],
        security: [{ deviceToken: [] }],
        body: KeyInput,
        response: { 201: NewKey('The new key') },
        'x-errors': ['conflict', 'validation_error'],
        'x-example': exampleNewKey,
      },
    },
    async ({ deviceAccess, body }, reply) => {
      const { exchangeForKey } = await import('../../oauth/exchange-for-key.ts')
      const { key, secret } = await exchangeForKey(ctx, deviceAccess, body)
      return reply.code(201).send({ data: keyJson(key), key: secret })
    },
  )
}

const authenticateDevice =
  (ctx: Service) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    // Loaded on first use, because few starts need it.
    const { findAccess } = await import('../../oauth/access.ts')
    const { toolsAudience } = await import('../../oauth/resources.ts')
    const token = bearerOf(request.headers)
    const from = addressSubject(request.ip)
    const access = token === undefined ? undefined : await findAccess(ctx, token, from)
    if (access?.audience !== toolsAudience(ctx.config)) {
      const error = authenticationError('Send the access token of a device login.')
      throw await refusalOf(ctx, request, reply, error)
    }
    const limit = await ctx.limiter.count(
      `write:grant:${access.grantId}`,
      ctx.config.rateLimit.write,
    )
    showLimit(reply, limit)
    if (limit.exceeded) throw tooMany(ctx, 'write', limit)
    request.deviceAccess = access
  }
