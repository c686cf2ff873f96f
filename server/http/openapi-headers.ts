/** The headers of responses, as the published descriptions explain them. */

const IF_COUNTED = 'Absent if the request was not counted, such as in a 401 or for an unknown path.'

const HEADERS = {
  'X-Request-Id': {
    description: 'Id of this request, also in the service’s log.',
    schema: { type: 'string' },
  },
  'X-Ignored-Fields': {
    description:
      'Body fields and query parameters that this operation does not know, such as `prize, items.3.sku`: at most 20 names, then `...`. Names are percent-encoded, including dots within a name; a name over 64 characters is cut and ends in `...`. Absent if all fields are known.',
    schema: { type: 'string' },
  },
  ETag: {
    description:
      'Names this version of the response. Send it in `If-None-Match` to get 304 while the data has not changed.',
    schema: { type: 'string' },
  },
  'X-RateLimit-Limit': {
    description: `Requests of this kind (read or write) that the key may send per minute. ${IF_COUNTED}`,
    schema: { type: 'integer', format: 'int64' },
  },
  'X-RateLimit-Remaining': {
    description: `Number of requests left in this window. ${IF_COUNTED}`,
    schema: { type: 'integer', format: 'int64' },
  },
  'X-RateLimit-Reset': {
    description: `Unix time in seconds at which the window ends. ${IF_COUNTED}`,
    schema: { type: 'integer', format: 'int64' },
  },
  'WWW-Authenticate': {
    description: 'The scheme of the credentials: `Bearer`.',
    schema: { type: 'string' },
  },
  'Retry-After': {
    description: 'Whole seconds to wait, at least 1.',
    schema: { type: 'integer', format: 'int64', minimum: 1 },
  },
} as const

/** The headers that these parts of a description refer to. */
export function usedHeaders(parts: unknown) {
  const text = JSON.stringify(parts)
  const isUsed = ([name]: [string, unknown]) => text.includes(`"#/components/headers/${name}"`)
  return Object.fromEntries(Object.entries(HEADERS).filter(isUsed))
}

export type HeaderName = keyof typeof HEADERS

export const LIMIT_HEADERS = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
] as const

export const headerRefs = (names: HeaderName[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
