import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import type { Service } from '../../service.ts'
import { timestamp } from '../../time/timestamp.ts'
import { Data } from '../schema.ts'
import { Me } from '../shapes/card.ts'

export const meRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    app.get(
      '/me',
      {
        config: { scope: null },
        schema: {
          operationId: 'getMe',
          summary: 'Read the account and key in use',
          description: 'Needs no scope: any active key will do.',
          tags: ['Account'],
          response: { 200: Data(Me, 'The account and the key') },
          'x-example': {
            data: {
              id: 1,
              shop_name: 'Demo Cards',
              slug: 'demo-cards',
              seller_tier: 'Gold',
              business: true,
              scopes: ['catalog:read', 'listings:read'],
              key_prefix: 'svc_live_a1B2',
              last_used_at: '2026-03-01T09:30:00Z',
              rate_limit: { read: 600, write: 120 },
            },
          },
        },
      },
      ({ caller }) => ({
        data: {
          id: caller.account.id,
          shop_name: caller.account.shopName,
          slug: caller.account.slug,
          seller_tier: caller.account.sellerTier,
          business: caller.account.business,
          scopes: caller.scopes,
          key_prefix: caller.prefix,
          last_used_at: timestamp(caller.lastUsedAt ?? ctx.now()),
          rate_limit: ctx.config.rateLimit,
        },
      }),
    )
    done()
  }
