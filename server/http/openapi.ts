import {
  type FastifyInstance,
  type FastifySchema,
  fastify,
  type RouteHandlerMethod,
  type RouteOptions,
} from 'fastify'
import type { OpenAPIV3_1 } from 'openapi-types'
import { ERROR_TYPES, type ErrorType } from '../errors.ts'
import type { Scope } from '../keys/scopes.ts'
import { MAX_KEY_LENGTH, PRINTABLE } from './idempotency-key.ts'
import { sendJson } from './json.ts'
import { ERROR_SCHEMA, type ErrorTexts, errorResponse, severalErrors } from './openapi-errors.ts'
import { headerRefs, LIMIT_HEADERS, usedHeaders } from './openapi-headers.ts'
import { components } from './schema.ts'
import { OWN_KEYWORDS } from './validate.ts'

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
    describe: RouteHandlerMethod
  }
}

/** A credential that is sent as a bearer token. */
type Credential = { name: string; description: string }

/** The general part of a published description. */
export type ApiDescription = {
  title: string
  description: string
  /** Prefix of all paths. It is published as part of the server's URL, so that paths read as in the documentation. */
  prefix: string
  publicUrl: string
  tags: { name: string; description: string }[]
  security: Credential
  /** Credentials of operations whose schema names them, instead of `security`. */
  otherCredentials?: Credential[]
  /** Descriptions and examples of errors that have another cause in this API. */
  errorTexts?: ErrorTexts
  /** Whether every response has the rate limit headers. */
  showsLimits: boolean
  /** Requests that the service sends, by event. */
  webhooks?: Record<string, OpenAPIV3_1.OperationObject>
}

/** Collects the routes that are registered later in this scope. `describe` sends their OpenAPI 3.1 description. */
export function describeRoutes(scope: FastifyInstance, api: ApiDescription): void {
  const routes: RouteOptions[] = []
  scope.addHook('onRoute', (route) => {
    if (route.method !== 'HEAD') routes.push(route)
  })
  let described: Promise<Buffer> | undefined
  scope.decorate('describe', async (_request, reply) => {
    // Serialised once: anybody can request it, as often as they like.
    described ??= generate(routes, api).then((document) =>
      Buffer.from(JSON.stringify(finish(document, api))),
    )
    return sendJson(reply, await described)
  })
}

/**
 * The library describes the routes of a server, so they are added to one that never listens. The library is loaded with
 * the first description, because its ninety modules would delay every start.
 */
async function generate(
  routes: RouteOptions[],
  { title, description, prefix, publicUrl, tags, security, otherCredentials = [] }: ApiDescription,
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
        securitySchemes: Object.fromEntries(
          [security, ...otherCredentials].map(({ name, description }) => [
            name,
            { type: 'http' as const, scheme: 'bearer', description },
          ]),
        ),
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

/** Adds the parts that all operations share, and writes the schemas in the published form. */
function finish(generated: OpenAPIV3_1.Document, api: ApiDescription): OpenAPIV3_1.Document {
  const document = asPublished(structuredClone(generated)) as OpenAPIV3_1.Document
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
      describeRequestHeaders(operation)
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

/** Describes the headers of requests that the service reads itself: the routes' schemas don't validate them. */
function describeRequestHeaders(operation: Operation): void {
  const parameters = (operation.parameters ?? []) as OpenAPIV3_1.ParameterObject[]
  for (const parameter of parameters) {
    if (parameter.name === 'idempotency-key') Object.assign(parameter.schema!, IDEMPOTENCY_KEY)
  }
  if ('304' in (operation.responses ?? {})) operation.parameters = [...parameters, IF_NONE_MATCH]
}

const IDEMPOTENCY_KEY = { minLength: 1, maxLength: MAX_KEY_LENGTH, pattern: PRINTABLE.source }

const IF_NONE_MATCH: OpenAPIV3_1.ParameterObject = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description:
    'The `ETag` of your copy, or several separated by commas. If one of them is current, the response is 304',
  schema: { type: 'string' },
}

/** Keywords whose value is not a schema. */
const VALUES = new Set(['example', 'examples', 'x-example', 'default', 'enum', 'const'])

/** Keywords whose value has names as keys, such as a property called `default`. */
const MAPS = new Set(['properties', 'patternProperties', 'responses'])

/**
 * Removes our own keywords, and gives numbers a format: without one, generated clients take 32 bits, which are too few
 * for ids, Unix times and sums of amounts.
 *
 * @param isMap whether the keys are names and not keywords
 */
function asPublished(value: unknown, isMap = false): unknown {
  if (Array.isArray(value)) return value.map((inner) => asPublished(inner))
  if (typeof value !== 'object' || value === null) return value
  if (isMap) {
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, asPublished(inner)]),
    )
  }
  const copy: Record<string, unknown> = Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !OWN_KEYWORDS.has(key))
      .map(([key, inner]) => [
        // Items of a list that is validated item by item, after the schema.
        key === 'x-items' ? 'items' : key,
        VALUES.has(key) ? inner : asPublished(inner, MAPS.has(key)),
      ]),
  )
  const types = [copy.type].flat()
  if (types.includes('integer')) copy.format = 'int64'
  else if (types.includes('number')) copy.format = 'double'
  if ('singleLine' in value) copy.description = oneLine(copy.description as string | undefined)
  return copy
}

/** The published form of `singleLine`: a pattern would need a lookahead, which not all clients understand. */
const oneLine = (description?: string): string =>
  `${description?.replace(/\.?$/, '. ') ?? ''}One line, without control characters`

/** The named schemas that this API refers to, directly or indirectly. */
function usedSchemas(document: OpenAPIV3_1.Document): Record<string, OpenAPIV3_1.SchemaObject> {
  const all = document.components?.schemas ?? {}
  const used = new Set<string>()
  const follow = (part: unknown) => {
    for (const [, name] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (name === undefined || used.has(name)) continue
      used.add(name)
      follow(all[name])
    }
  }
  follow([document.paths, document.webhooks, ERROR_SCHEMA])
  const names = Object.keys(all)
    .filter((name) => used.has(name))
    .sort()
  return Object.fromEntries(names.map((name) => [name, all[name] as OpenAPIV3_1.SchemaObject]))
}
