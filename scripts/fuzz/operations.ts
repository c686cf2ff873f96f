import { mismatchesOf } from '../../server/test/described-responses.ts'

/** The parts of an operation in a published description that requests need. */
export type Operation = {
  id: string
  /** The client whose credential it needs. */
  credential: 'seller' | 'operator' | 'member' | 'program' | 'none'
  method: string
  /** With the prefix of its API, and with `{parameters}`. */
  path: string
  parameters: Parameter[]
  body?: { type: string; schema: Schema; isRequired: boolean; example: unknown }
  /** How a successful body violates its schema; null if it doesn't. The published descriptions have their own check. */
  mismatch?: (status: number, body: unknown) => string | null
}

export type Parameter = {
  name: string
  in: 'path' | 'query' | 'header'
  schema: Schema
  /** Whether each valid request has it. */
  isRequired?: boolean
}

/** A JSON schema with its references resolved. */
export type Schema = {
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  oneOf?: Schema[]
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  minItems?: number
  maxItems?: number
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  pattern?: string
  format?: string
}

// biome-ignore lint/suspicious/noExplicitAny: a whole OpenAPI document, walked freely
type Document = any

/** The operations of a published description. */
export function operationsOf(document: Document, credential: Operation['credential']): Operation[] {
  const prefix = new URL(document.servers[0].url).pathname
  const follow = (schema: Document): Schema => {
    if (Array.isArray(schema)) return schema.map(follow) as never
    if (typeof schema !== 'object' || schema === null) return schema
    if (typeof schema.$ref === 'string') {
      const name = schema.$ref.split('/').at(-1)
      return follow(document.components.schemas[name])
    }
    return Object.fromEntries(
      Object.entries(schema).map(([key, value]) => [key, follow(value)]),
    ) as Schema
  }
  return Object.entries<Document>(document.paths).flatMap(([path, item]) =>
    Object.entries<Document>(item).map(([method, operation]) => {
      const [type, media] = Object.entries<Document>(operation.requestBody?.content ?? {})[0] ?? []
      const named = Object.values<Document>(media?.examples ?? {})
      return {
        id: operation.operationId,
        credential,
        method: method.toUpperCase(),
        path: prefix + path,
        parameters: (operation.parameters ?? []).map(
          ({ name, in: location, schema, required = false }: Document) => ({
            name,
            in: location,
            schema: follow(schema),
            isRequired: required,
          }),
        ),
        ...(type
          ? {
              body: {
                type,
                schema: follow(media.schema),
                isRequired: operation.requestBody.required,
                example: media.example ?? named[0]?.value,
              },
            }
          : {}),
      }
    }),
  )
}

/** The calls of the tools of a tool server, as operations. */
export const operationsOfTools = (
  path: string,
  credential: Operation['credential'],
  tools: { name: string; inputSchema: Schema; outputSchema: object }[],
): Operation[] =>
  tools.map(({ name, inputSchema, outputSchema }) => ({
    id: `call ${name} at ${path}`,
    credential,
    method: 'POST',
    path,
    parameters: [],
    body: {
      type: 'application/json',
      isRequired: true,
      example: undefined,
      schema: strictObject({
        jsonrpc: { const: '2.0' },
        id: { type: 'integer' },
        method: { const: 'tools/call' },
        params: strictObject({ name: { const: name }, arguments: inputSchema }),
      }),
    },
    mismatch: mismatchOfResult(mismatchesOf(outputSchema)),
  }))

/** The result of a call that failed has no structured content. */
const mismatchOfResult =
  (mismatch: ReturnType<typeof mismatchesOf>): Operation['mismatch'] =>
  (_status, body) => {
    const { structuredContent } =
      (body as { result?: { structuredContent?: unknown } }).result ?? {}
    return structuredContent === undefined ? null : mismatch('#', structuredContent)
  }

const strictObject = (properties: Record<string, Schema>): Schema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
})

/** The collection of each path parameter: the path segment before it. */
export function idsIn(path: string): { name: string; collection: string }[] {
  const segments = path.split('/')
  return segments.flatMap((segment, i) =>
    segment.startsWith('{') ? [{ name: segment.slice(1, -1), collection: segments[i - 1]! }] : [],
  )
}
