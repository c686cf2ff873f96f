import type { ApiDescription } from '../openapi.ts'

/** The general part of the operator API's description. */
export const operatorApi = (publicUrl: string): ApiDescription => ({
  title: 'Cardstall operator API',
  description: `The API for the marketplace's own back end: accounts, members and keys, catalog import, reservations, checkouts, orders, the ledger, payouts, tracking and webhook deliveries; in the sandbox also the test clock, the simulated carrier, captured e-mail and sample events. The conventions are those of the seller API, including \`X-Ignored-Fields\`. The credential is the operator token (\`OPERATOR_TOKEN\`), which may do everything, or the token of a staff member, whose role decides: each operation names its roles. Without \`OPERATOR_TOKEN\` this API does not exist.`,
  prefix: operatorApi.prefix,
  publicUrl,
  tags: [
    { name: 'Accounts', description: 'Shops on the marketplace' },
    { name: 'Members', description: 'People who sign in to an account’s dashboard' },
    { name: 'Keys', description: 'API keys of the accounts' },
    { name: 'Catalog', description: 'Series, sets, cards and sealed products' },
    { name: 'Listings', description: 'Sellers’ listings, seen by the operator' },
    { name: 'Orders', description: 'Checkouts, order transitions and tracking' },
    { name: 'Money', description: 'The ledger and payouts' },
    { name: 'Reservations', description: 'Units held for buyers’ carts' },
    { name: 'Webhooks', description: 'Sellers’ endpoints, deliveries and event streams' },
    { name: 'Buyers', description: 'Personal data of buyers' },
    { name: 'Staff', description: 'People and programs of the marketplace' },
    { name: 'Sandbox', description: 'Only if SANDBOX is true' },
  ],
  security: {
    name: 'operatorToken',
    description: 'The configured operator token, or a staff token: svc_staff_ and 40 characters',
  },
  showsLimits: false,
  errorTexts: {
    authentication_error: {
      description: 'The token is missing, unknown or revoked.',
      message: 'The operator token or staff token is wrong, or was revoked.',
    },
    authorization_error: {
      description: 'The role of the staff member does not include this operation.',
      message: 'This needs one of the roles admin, finance; yours is support.',
    },
    rate_limited: {
      description: 'The client’s address has sent too many wrong tokens in this minute.',
      message: 'Too many requests with wrong credentials from this address. Try again in 12 s.',
    },
  },
})
operatorApi.prefix = '/operator/v1'
