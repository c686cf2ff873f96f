import type { ApiDescription } from '../openapi.ts'
import { webhookDescriptions } from './webhook-descriptions.ts'

/** The general part of the seller API's description. */
export const sellerApi = (publicUrl: string): ApiDescription => ({
  title: 'Cardstall seller API',
  description: `The API for sellers' scripts, tools and shops that trade Pokemon cards and sealed products on a Cardstall marketplace.

**Keys.** Send an API key as \`Authorization: Bearer svc_live_…\`. Each operation states the scope that it needs; \`GET /me\` needs none.

**Money** is in decimal euros: \`4.5\` is four euros fifty. Amounts have at most two decimals: a program that counts in cents rounds 100 times the amount to a whole number. **Times** are ISO 8601 in UTC with whole seconds. **Lists** have \`data\`, \`links\` and \`meta\`, except for those that are not paginated; the links repeat all parameters of the request.

**Rate limits** apply per key and minute of real time, separately for reads (GET, HEAD) and writes. Every response to a valid key has \`X-RateLimit-Limit\`, \`-Remaining\` and \`-Reset\`, except for an unknown path or method or malformed percent-encoding, which are not counted; 429 adds \`Retry-After\`.

**Errors** share one format: \`error.type\` for programs, \`error.message\` for people, and \`error.fields\` for validation errors and ambiguous identifiers. Every response has an \`X-Request-Id\`.

**Guides**: [a tour](${publicUrl}/docs/guides/readme#a-tour-in-five-minutes), [glossary](${publicUrl}/docs/guides/glossary), [webhooks](${publicUrl}/docs/guides/webhooks), [orders](${publicUrl}/docs/guides/orders), [keeping a copy of listings](${publicUrl}/docs/guides/sync), [errors](${publicUrl}/docs/guides/errors) and [more](${publicUrl}/docs/guides/).

**Requests.** An empty query parameter counts as absent; if a parameter is repeated, its last value counts. Unknown query parameters and body fields are ignored, and the response names them in \`X-Ignored-Fields\`: check it for misspelt names. A body can have at most 20,000 values and 32 levels.

**Caching.** Catalog responses have an \`ETag\`. You may cache them if you revalidate them each time with \`If-None-Match\`; a 304 counts as a read. With \`include=listings\`, the \`ETag\` also changes with the listings. All other responses are \`no-store\`.`,
  prefix: sellerApi.prefix,
  publicUrl,
  tags: [
    { name: 'Catalog', description: 'Series, sets, cards and sealed products' },
    { name: 'Listings', description: 'Your stock on sale' },
    { name: 'Orders', description: 'Your sales, labels and shipping' },
    {
      name: 'Webhooks',
      description:
        'Events of your listings and orders, delivered to your endpoints. Each delivery is signed: `X-Service-Signature` is the hex HMAC-SHA256, keyed with the endpoint’s secret, of the `X-Service-Timestamp` header, a dot and the raw body. Compute it over the received bytes before parsing them, compare in constant time, and refuse timestamps older than 300 seconds. Deliveries arrive at least once and in no guaranteed order; `X-Service-Delivery` is the idempotency key.',
    },
    { name: 'Account', description: 'The account and key in use' },
  ],
  security: { name: 'apiKey', description: 'An API key: svc_live_ and 40 characters' },
  showsLimits: true,
  errorTexts: {
    conflict: {
      description: 'The current state of the record does not allow this operation.',
      message: 'The listing has an open order: it can be deleted once that is completed.',
    },
  },
  webhooks: webhookDescriptions(),
})
sellerApi.prefix = '/v1'
