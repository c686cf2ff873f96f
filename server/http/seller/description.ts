import type { ApiDescription } from '../openapi.ts'
import { webhookDescriptions } from './webhook-descriptions.ts'

/** What the seller API's description says of it as a whole. */
export const sellerApi = (publicUrl: string): ApiDescription => ({
  title: 'Cardstall seller API',
  description: `Everything a seller's scripts, tools and shop need to trade Pokemon cards and sealed products on a Cardstall marketplace.

**Keys.** Send an API key as \`Authorization: Bearer svc_live_…\`. Each operation needs one scope, named in its description; \`GET /me\` needs none.

**Money** is decimal euros, \`4.5\` is four euros fifty. **Times** are ISO 8601 in UTC, whole seconds. **Lists** have \`data\`, \`links\` and \`meta\`; the links carry every parameter that was sent.

**Limits** count per key and minute of real time, reads (GET, HEAD) apart from writes. Every answer to a valid key has \`X-RateLimit-Limit\`, \`-Remaining\` and \`-Reset\`; 429 adds \`Retry-After\`.

**Errors** share one envelope: \`error.type\` for programs, \`error.message\` for people, \`error.fields\` on validation and ambiguity. Every answer carries \`X-Request-Id\`.

**Guides**: [a tour](${publicUrl}/docs/guides/readme#a-tour-in-five-minutes), [glossary](${publicUrl}/docs/guides/glossary), [webhooks](${publicUrl}/docs/guides/webhooks), [orders](${publicUrl}/docs/guides/orders), [keeping a copy of listings](${publicUrl}/docs/guides/sync), [errors](${publicUrl}/docs/guides/errors) and [more](${publicUrl}/docs/guides/).

**Requests.** A query parameter that is empty counts as absent; of a repeated one the last value counts. Unknown query parameters and body fields are ignored, and the response names them in \`X-Ignored-Fields\`: look there for misspelt names. A body has at most 20,000 values and 32 levels.

**Caching.** Catalog responses have an \`ETag\` and may be kept if \`If-None-Match\` asks each time whether they are still current; a 304 counts as a read. With \`include=listings\` the \`ETag\` changes with the listings, too. All other responses are \`no-store\`.`,
  prefix: sellerApi.prefix,
  publicUrl,
  tags: [
    { name: 'Catalog', description: 'Series, sets, cards and sealed products' },
    { name: 'Listings', description: 'Your stock on sale' },
    { name: 'Orders', description: 'What was bought from you' },
    {
      name: 'Webhooks',
      description:
        'What happens to your listings and orders, sent to addresses of yours. Each delivery is signed: `X-Service-Signature` is the hex HMAC-SHA256, keyed with the endpoint’s secret, of the `X-Service-Timestamp` header, a dot and the raw body. Compute it over the bytes as they came, before any parsing, compare in constant time, and refuse timestamps older than 300 seconds. Every delivery comes at least once and in no promised order: `X-Service-Delivery` is its idempotency key.',
    },
    { name: 'Account', description: 'The account and key in use' },
  ],
  security: { name: 'apiKey', description: 'An API key: svc_live_ and 40 characters' },
  showsLimits: true,
  errors: [
    'authentication_error',
    'authorization_error',
    'not_found',
    'rate_limited',
    'server_error',
    'service_unavailable',
  ],
  webhooks: webhookDescriptions(),
})
sellerApi.prefix = '/v1'
