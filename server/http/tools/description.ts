import type { ApiDescription } from '../openapi.ts'

/** The general part of the tools API's description. */
export const toolsApi = (publicUrl: string): ApiDescription => ({
  title: 'Cardstall tools API',
  description: `The API for sellers' own software: everything about a shop that the seller API leaves out. It uses the same API keys, scopes, rate limits, errors and pagination as the [seller API](${publicUrl}/docs/guides/readme#a-tour-in-five-minutes), and the conventions that its description states, including \`X-Ignored-Fields\`.

A bulk operation counts as one write for each 100 items. See [docs/tools.md](${publicUrl}/docs/guides/tools).`,
  prefix: toolsApi.prefix,
  publicUrl,
  tags: [
    { name: 'Listings', description: 'Your stock on sale, with your own references' },
    { name: 'Money', description: 'Your payouts and monthly statements' },
    { name: 'Orders', description: 'Orders, their labels and packing' },
    { name: 'Shop', description: 'Your shipping options and holidays' },
    { name: 'Webhooks', description: 'Your events, their deliveries and the secrets of endpoints' },
    { name: 'Keys', description: 'The key of your program' },
    { name: 'Changes', description: 'Everything that changed since your last request' },
  ],
  security: { name: 'apiKey', description: 'An API key: svc_live_ and 40 characters' },
  otherCredentials: [{ name: 'deviceToken', description: 'The access token of a device login' }],
  showsLimits: true,
  errorTexts: {
    conflict: {
      description: 'The current state of the record does not allow this operation.',
      message: 'The order is shipped; this requires it to be pending.',
    },
  },
})
toolsApi.prefix = '/tools/v1'
