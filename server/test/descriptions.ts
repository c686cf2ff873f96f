/** The APIs with a published description: its path, the prefix of its operations, its file and their credential. */
export const DESCRIPTIONS = [
  { path: '/openapi.json', prefix: '/v1', file: 'openapi/seller.json', credential: 'seller' },
  {
    path: '/tools/openapi.json',
    prefix: '/tools/v1',
    file: 'openapi/tools.json',
    credential: 'seller',
  },
  {
    path: '/operator/openapi.json',
    prefix: '/operator/v1',
    file: 'openapi/operator.json',
    credential: 'operator',
  },
] as const
