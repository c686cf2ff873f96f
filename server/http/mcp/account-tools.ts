import Type from 'typebox'
import { SCOPES } from '../../keys/scopes.ts'
import { timestamp } from '../../time/timestamp.ts'
import { publicPartOf } from '../../webhooks/emails.ts'
import { listEndpoints } from '../../webhooks/endpoints.ts'
import { Nullable, OneOf, Timestamp } from '../schema.ts'
import { shopFields, shopJson } from '../shapes/me.ts'
import { endpointFields, endpointJson } from '../shapes/webhook-endpoint.ts'
import { note } from './fields.ts'
import { cutToFit } from './result-size.ts'
import { salesWarnings } from './sales-warnings.ts'
import { READS, type SellerCall, tool } from './tool.ts'

const getAccount = tool({
  name: 'get_account',
  title: 'Read the shop',
  description:
    'Reads the shop: name, tier, the scopes of this program, and whether the shop can list and sell now. `warnings` says what the seller has to do first.',
  scope: null,
  input: {},
  output: Type.Object({
    ...shopFields,
    scopes: Type.Array(OneOf(SCOPES)),
    last_used_at: Timestamp(),
    rate_limit: Type.Object({ read: Type.Integer(), write: Type.Integer() }),
    payout_verified: Type.Boolean(),
    ships: Type.Boolean(),
    warnings: Type.Array(Type.String()),
  }),
  effect: READS,
  run: (ctx, _, { account, scopes }: SellerCall) => ({
    ...shopJson(account),
    scopes,
    last_used_at: timestamp(ctx.now()),
    rate_limit: ctx.config.rateLimit,
    payout_verified: account.payoutVerified,
    ships: account.ships,
    warnings: salesWarnings(ctx, { account }),
  }),
})

const listWebhooks = tool({
  name: 'list_webhooks',
  title: 'List webhook endpoints',
  description:
    'Lists the shop’s webhook endpoints with their failures. Only the dashboard creates them, because their secret must not pass through a conversation.',
  scope: 'webhooks:manage',
  input: {},
  output: Type.Object({
    data: Type.Array(
      Type.Object({
        ...endpointFields,
        url: Type.String({ description: 'Without user, password and query, which may be secret' }),
        failure_reason: Nullable(Type.String()),
      }),
    ),
    note,
  }),
  effect: READS,
  async run(ctx, _, { account }: SellerCall) {
    const endpoints = await listEndpoints(ctx, account.id)
    return cutToFit(
      endpoints.map((endpoint) => ({
        ...endpointJson(endpoint),
        url: publicPartOf(endpoint.url),
        failure_reason: endpoint.failureReason,
      })),
      (data) => ({ data }),
      'The dashboard shows all endpoints.',
    )
  },
})

export const accountTools = [getAccount, listWebhooks]
