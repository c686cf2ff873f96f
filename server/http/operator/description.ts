import type { ApiDescription } from '../openapi.ts'

/** What the operator API's description says of it as a whole. */
export const operatorApi = (publicUrl: string): ApiDescription => ({
  title: 'Cardstall operator API',
  description: `The marketplace's own back end talks to Cardstall through this API: accounts and keys, catalog import, reservations, checkouts, orders, tracking, webhook deliveries, and in the sandbox the test clock, the simulated carrier, captured e-mail and sample events. Same conventions as the seller API, unknown fields in \`X-Ignored-Fields\` among them; the one credential is the operator token (\`OPERATOR_TOKEN\`), without which this API doesn't exist.`,
  prefix: operatorApi.prefix,
  publicUrl,
  tags: [
    { name: 'Accounts', description: 'Shops on the marketplace' },
    { name: 'Keys', description: 'Their API keys' },
    { name: 'Catalog', description: 'Series, sets, cards and sealed products' },
    { name: 'Listings', description: 'What sellers offer, as the operator looks after it' },
    { name: 'Orders', description: 'Checkouts, and what becomes of orders' },
    { name: 'Reservations', description: 'What buyers’ carts hold' },
    { name: 'Webhooks', description: 'Sellers’ endpoints, and what is delivered to them' },
    { name: 'Sandbox', description: 'Only where SANDBOX is true' },
  ],
  security: { name: 'operatorToken', description: 'The operator token of the configuration' },
  showsLimits: false,
  errors: [
    'authentication_error',
    'not_found',
    'rate_limited',
    'server_error',
    'service_unavailable',
  ],
})
operatorApi.prefix = '/operator/v1'
