import { type FastifyInstance, type FastifySchema, fastify, type RouteOptions } from 'fastify'
import type { OpenAPIV3_1 } from 'openapi-types'
import { ERROR_TYPES, type ErrorType } from '../errors.ts'
import type { Scope } from '../keys/scopes.ts'
import { components } from './schema.ts'

declare module 'fastify' {
  interface FastifySchema {
    /** Errors of this operation, in addition to those of every operation. */
    'x-errors'?: ErrorType[]
    /** Errors that a body can cause, for an operation that does not read JSON. */
    'x-body-errors'?: ErrorType[]
    /** The handler refuses an empty body, with a message that the schema can't express. */
    'x-requires-body'?: true
    /** The scope that the operation needs; taken from the route's config. */
    'x-scope'?: Scope | readonly Scope[] | null
    /** Example of the success response. */
    'x-example'?: unknown
  }
  interface FastifyInstance {
    describe(): Promise<OpenAPIV3_1.Document>
  }
}

/** The general part of a published description. */
export type ApiDescription = {
  title: string
  description: string
  /** Prefix of all paths. It is published as part of the server's URL, so that paths read as in the documentation. */
  prefix: string
  publicUrl: string
  tags: { name: string; description: string }[]
  security: { name: string; description: string }
  /** Descriptions and examples of errors that have another cause in this API. */
  errorTexts?: Partial<Record<ErrorType, ErrorText>>
  /** Whether every response has the rate limit headers. */
  showsLimits: boolean
  /** Requests that the service sends, by event. */
  webhooks?: Record<string, OpenAPIV3_1.OperationObject>
}

/** Collects the routes that are registered later in this scope. `describe()` returns their OpenAPI 3.1 description. */
export function describeRoutes(scope: FastifyInstance, api: ApiDescription): void {
  const routes: RouteOptions[] = []
  scope.addHook('onRoute', (route) => {
    if (route.method !== 'HEAD') routes.push(route)
  })
  let described: Promise<OpenAPIV3_1.Document> | undefined
  scope.decorate('describe', () => {
    described ??= generate(routes, api).then((document) => finish(document, api))
    return described
  })
}

/**
 * The library describes the routes of a server, so they are added to one that never listens. The library is loaded with
 * the first description, because its ninety modules would delay every start.
 */
async function generate(
  routes: RouteOptions[],
  { title, description, prefix, publicUrl, tags, security }: ApiDescription,
): Promise<OpenAPIV3_1.Document> {
  const { default: swagger } = await import('@fastify/swagger')
  const server = fastify({
    exposeHeadRoutes: false,
    schemaController: {
      compilersFactory: {
        buildValidator: () => (() => () => true) as never,
        buildSerializer: () => () => JSON.stringify,
      },
    },
  })
  await server.register(swagger, {
    stripBasePath: false,
    openapi: {
      openapi: '3.1.0',
      info: {
        title,
        version: '1.0.0',
        description,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: publicUrl + prefix }],
      externalDocs: { description: 'Guides', url: `${publicUrl}/docs/guides/` },
      tags,
      security: [{ [security.name]: [] }],
      components: {
        securitySchemes: {
          [security.name]: { type: 'http', scheme: 'bearer', description: security.description },
        },
      },
    },
    refResolver: {
      buildLocalReference: (json, _base, _fragment, i) => String(json.$id ?? `schema-${i}`),
    },
    // The same data on the route enforces and documents the scope.
    transform: ({ schema, url, route }) => ({
      url,
      schema: { ...schema, 'x-scope': route.config?.scope } as FastifySchema,
    }),
  })
  for (const schema of components.values()) server.addSchema(schema)
  for (const { method, url, schema = {}, config = {} } of routes) {
    server.route({ method, url, schema, config, handler: () => {} })
  }
  await server.ready()
  const document = server.swagger() as OpenAPIV3_1.Document
  await server.close()
  return document
}

/** Errors of every operation that is not a GET: it parses a JSON body, even an unexpected one. */
const BODY_ERRORS: ErrorType[] = ['payload_too_large', 'unsupported_media_type', 'validation_error']

type Operation = OpenAPIV3_1.OperationObject & {
  'x-errors'?: ErrorType[]
  'x-body-errors'?: ErrorType[]
  'x-requires-body'?: true
  'x-scope'?: Scope | readonly Scope[] | null
  'x-example'?: unknown
}

/** Errors that every operation can return. */
const COMMON_ERRORS: ErrorType[] = [
  'authentication_error',
  'authorization_error',
  'not_found',
  'rate_limited',
  'server_error',
  'service_unavailable',
]

/** Adds the parts that all operations share, and removes our own keywords. */
function finish(generated: OpenAPIV3_1.Document, api: ApiDescription): OpenAPIV3_1.Document {
  const document = withoutOurKeywords(structuredClone(generated)) as OpenAPIV3_1.Document
  const used = new Set<ErrorType>()
  const paths: OpenAPIV3_1.PathsObject = {}
  for (const [path, item] of Object.entries(document.paths ?? {})) {
    paths[path.slice(api.prefix.length)] = item
    for (const [method, operation] of Object.entries(item ?? {}) as [string, Operation][]) {
      const errors = new Set([
        ...COMMON_ERRORS,
        ...(method === 'get'
          ? []
          : ['request_timeout' as const, ...(operation['x-body-errors'] ?? BODY_ERRORS)]),
        ...(operation['x-errors'] ?? []),
      ])
      for (const type of errors) used.add(type)
      addScope(operation)
      addErrors(operation, [...errors])
      requireBody(operation)
      addExample(operation)
      addHeaders(operation, api)
    }
  }
  document.paths = paths
  if (api.webhooks) document.webhooks = posted(api.webhooks)
  const responses = Object.fromEntries([...used].map((type) => [type, errorResponse(type, api)]))
  document.components = {
    ...document.components,
    schemas: usedSchemas(document),
    headers: usedHeaders([document.paths, responses]),
    responses,
  } as OpenAPIV3_1.ComponentsObject
  return document
}

const posted = (
  webhooks: NonNullable<ApiDescription['webhooks']>,
): OpenAPIV3_1.Document['webhooks'] =>
  Object.fromEntries(
    Object.entries(webhooks).map(([event, post]) => [
      event,
      { post } as OpenAPIV3_1.PathItemObject,
    ]),
  )

function addScope(operation: Operation): void {
  const scope = operation['x-scope']
  delete operation['x-scope']
  if (!scope) return
  const scopes = [scope].flat().map((name) => `\`${name}\``)
  operation.description = [operation.description, `Scope: ${scopes.join(' or ')}.`]
    .filter(Boolean)
    .join('\n\n')
}

function addErrors(operation: Operation, errors: ErrorType[]): void {
  operation.responses ??= {}
  delete operation['x-errors']
  delete operation['x-body-errors']
  const byStatus = Map.groupBy(errors, (type) => ERROR_TYPES[type])
  for (const [status, types] of [...byStatus].sort(([a], [b]) => a - b)) {
    // A route describes an error itself if the response has more than the `error` field.
    if (operation.responses[status]) continue
    const [only, ...others] = types
    operation.responses[status] =
      others.length === 0 ? { $ref: `#/components/responses/${only}` } : severalErrors(types)
  }
}

/** A body without required fields is optional. */
function requireBody(operation: Operation): void {
  const { requestBody, 'x-requires-body': isRequired = false } = operation
  delete operation['x-requires-body']
  if (!requestBody || '$ref' in requestBody) return
  const [media] = Object.values(requestBody.content)
  const schema = media?.schema as OpenAPIV3_1.SchemaObject | undefined
  requestBody.required =
    isRequired || schema?.type !== 'object' || (schema.required ?? schema.anyOf ?? []).length > 0
}

function addExample(operation: Operation): void {
  const example = operation['x-example']
  delete operation['x-example']
  const [success] = Object.values(operation.responses ?? {}) as OpenAPIV3_1.ResponseObject[]
  const media = success?.content?.['application/json']
  if (media && example !== undefined) media.example = example
}

function addHeaders(operation: Operation, { showsLimits }: ApiDescription): void {
  const revalidated = '304' in (operation.responses ?? {})
  for (const [status, response] of Object.entries(operation.responses ?? {})) {
    if ('$ref' in response) continue
    const { headers } = response as OpenAPIV3_1.ResponseObject
    ;(response as OpenAPIV3_1.ResponseObject).headers = {
      ...headerRefs([
        'X-Request-Id',
        'X-Ignored-Fields',
        ...(showsLimits ? LIMIT_HEADERS : []),
        ...(revalidated && status < '400' ? (['ETag'] as const) : []),
      ]),
      ...headers,
    }
  }
}

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
    schema: { type: 'integer' },
  },
  'X-RateLimit-Remaining': {
    description: `Number of requests left in this window. ${IF_COUNTED}`,
    schema: { type: 'integer' },
  },
  'X-RateLimit-Reset': {
    description: `Unix time in seconds at which the window ends. ${IF_COUNTED}`,
    schema: { type: 'integer' },
  },
  'WWW-Authenticate': {
    description: 'The scheme of the credentials: `Bearer`.',
    schema: { type: 'string' },
  },
  'Retry-After': {
    description: 'Whole seconds to wait, at least 1.',
    schema: { type: 'integer', minimum: 1 },
  },
} as const

function usedHeaders(parts: unknown) {
  const text = JSON.stringify(parts)
  const isUsed = ([name]: [string, unknown]) => text.includes(`"#/components/headers/${name}"`)
  return Object.fromEntries(Object.entries(HEADERS).filter(isUsed))
}

type HeaderName = keyof typeof HEADERS

const LIMIT_HEADERS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const

const headerRefs = (names: HeaderName[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

type ErrorText = { description: string; message: string; fields?: object }

/** Description and example of each error. */
const ERRORS: Record<ErrorType, ErrorText> = {
  bad_request: {
    description: 'The request is not valid HTTP.',
    message: 'This is not a valid HTTP request.',
  },
  authentication_error: {
    description: 'The credentials are missing, unknown, revoked or expired.',
    message: 'The API key is unknown.',
  },
  authorization_error: {
    description:
      'The key lacks the scope that this operation needs, or the account’s API access is not enabled or is suspended. For listing stock also: the account’s payout setup is not verified.',
    message: 'The API key lacks the scope catalog:read.',
  },
  not_found: {
    description:
      'No record that the caller can access has this identifier, or the percent-encoding of the URL is malformed.',
    message: 'There is no such record.',
  },
  method_not_allowed: {
    description: 'The path exists with other methods, named in `Allow`.',
    message: 'PUT is not allowed here. Allowed: GET, HEAD.',
  },
  request_timeout: {
    description: 'The request was not complete within 60 seconds. It had no effect.',
    message: 'The request took too long to arrive.',
  },
  conflict: {
    description: 'The current state of the record does not allow this operation.',
    message: 'A revoked key cannot be rotated.',
  },
  ambiguous_identifier: {
    description:
      'Several records share the friendly identifier; `fields.candidates` lists them. A canonical id always resolves.',
    message: 'The shortcut "brs" means 2 sets. Use a canonical id.',
    fields: {
      candidates: [
        {
          id: 'swsh9',
          shortcut: 'brs',
          name: 'Brilliant Stars',
          series: 'Sword & Shield',
          language: 'EN',
          region: 'int',
        },
        {
          id: 'swsh9tg',
          shortcut: 'brs',
          name: 'Brilliant Stars Trainer Gallery',
          series: 'Sword & Shield',
          language: 'EN',
          region: 'int',
        },
      ],
    },
  },
  cursor_expired: {
    description: 'The cursor is older than 30 days: changes after it may have been deleted.',
    message:
      'The cursor has expired. Request a new one without `cursor`, list all of your records again, and continue from the new cursor.',
  },
  payload_too_large: {
    description: 'The body is larger than this operation allows: 256 KiB unless stated otherwise.',
    message: 'The body is larger than 256 KiB.',
  },
  unsupported_media_type: {
    description: 'This operation does not accept the media type of the body.',
    message: 'Send the body as JSON with "Content-Type: application/json".',
  },
  expectation_failed: {
    description: 'The `Expect` header is not `100-continue`.',
    message: 'Only "Expect: 100-continue" is supported.',
  },
  validation_error: {
    description:
      'The body or the query is not valid, or the body is not a JSON object, even if the operation needs none. `fields` maps field names to messages.',
    message: 'The page field must be an integer from 1 to 1000000000.',
    fields: { page: ['The page field must be an integer from 1 to 1000000000.'] },
  },
  rate_limited: {
    description:
      'The key’s read or write limit is used up for this minute, or the client’s address has sent too many wrong keys.',
    message: 'Too many read requests: 600 a minute are possible. Try again in 12 s.',
  },
  headers_too_large: {
    description: 'The address and headers are larger than 16 KiB.',
    message: 'The address and headers are larger than 16 KiB.',
  },
  server_error: {
    description: 'The service failed. Its log has the details under the request id.',
    message: 'Something went wrong on our side.',
  },
  provider_error: {
    description:
      'The carrier failed. The request was valid and can be repeated later: no label is bought twice.',
    message: 'The carrier could not provide the label. Try again later.',
  },
  service_unavailable: {
    description:
      'The database is unavailable, or the service is overloaded or starting. Repeat the request after `Retry-After` seconds. A write may have taken effect: repeat it with the same `Idempotency-Key`, or read the record first.',
    message: 'The database is unavailable. Try again shortly.',
  },
}

const errorExample = (type: ErrorType, { message, fields }: ErrorText = ERRORS[type]) => {
  return { error: { type, message, ...(fields ? { fields } : {}) } }
}

const ERROR_SCHEMA = { $ref: '#/components/schemas/Error' }

/** Errors of a request that is refused before its fields are read. */
const UNREAD = new Set<ErrorType>([
  'authentication_error',
  'request_timeout',
  'payload_too_large',
  'unsupported_media_type',
])

function errorResponse(type: ErrorType, { errorTexts, showsLimits }: ApiDescription) {
  const text = errorTexts?.[type] ?? ERRORS[type]
  const names: HeaderName[] = ['X-Request-Id']
  if (!UNREAD.has(type)) names.push('X-Ignored-Fields')
  if (type === 'authentication_error') names.push('WWW-Authenticate')
  if (showsLimits || type === 'rate_limited') names.push(...LIMIT_HEADERS)
  if (type === 'rate_limited' || type === 'service_unavailable') names.push('Retry-After')
  return {
    description: text.description,
    headers: headerRefs(names),
    content: { 'application/json': { schema: ERROR_SCHEMA, example: errorExample(type, text) } },
  }
}

/** Several errors that share a status, each with its example. */
function severalErrors(types: ErrorType[]) {
  return {
    description: types.map((type) => `\`${type}\`: ${ERRORS[type].description}`).join(' '),
    content: {
      'application/json': {
        schema: ERROR_SCHEMA,
        examples: Object.fromEntries(types.map((type) => [type, { value: errorExample(type) }])),
      },
    },
  }
}

const OUR_KEYWORDS = new Set(['storable', 'singleLine', 'publicUrl', 'clamped'])

function withoutOurKeywords(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutOurKeywords)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !OUR_KEYWORDS.has(key))
      // Items of a list that is validated item by item, after the schema.
      .map(([key, inner]) => [key === 'x-items' ? 'items' : key, withoutOurKeywords(inner)]),
  )
}

/** The named schemas that this API refers to, directly or indirectly. */
function usedSchemas(document: OpenAPIV3_1.Document): Record<string, OpenAPIV3_1.SchemaObject> {
  const all = document.components?.schemas ?? {}
  const used = new Set(['Error'])
  const follow = (part: unknown) => {
    for (const [, name] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (name === undefined || used.has(name)) continue
      used.add(name)
      follow(all[name])
    }
  }
  follow([document.paths, document.webhooks])
  const names = Object.keys(all)
    .filter((name) => used.has(name))
    .sort()
  return Object.fromEntries(names.map((name) => [name, all[name] as OpenAPIV3_1.SchemaObject]))
}
