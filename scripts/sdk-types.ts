import { compile, type JSONSchema } from 'json-schema-to-typescript'
import type { OpenAPIV3_1 } from 'openapi-types'

/** Records that a response contains without giving them a name, by operation. */
const NAMED: Record<string, string> = {
  buyLabel: 'Label',
  getPacking: 'Packing',
  listChanges: 'Change',
}

const BANNER = `// Generated from openapi/seller.json and openapi/tools.json by "npm run generate". Don't edit it.
`

/**
 * TypeScript types of the APIs' records, and of each operation's query and body.
 *
 * @param descriptions OpenAPI documents; a record that several of them describe must be the same in all
 */
export async function sdkTypes(descriptions: OpenAPIV3_1.Document[]): Promise<string> {
  const definitions: Record<string, JSONSchema> = {}
  for (const description of descriptions) {
    for (const [name, schema] of Object.entries(recordsOf(description))) {
      const known = definitions[name]
      if (known && JSON.stringify(known) !== JSON.stringify(schema)) {
        throw new Error(`Two APIs describe ${name} differently.`)
      }
      definitions[name] = schema
    }
  }
  const text = await compile(withDefinitions({ definitions }) as JSONSchema, 'Unused', {
    additionalProperties: false,
    bannerComment: BANNER,
    unreachableDefinitions: true,
    ignoreMinAndMaxItems: true,
    style: { semi: false, singleQuote: true, printWidth: 100 },
  })
  return text
    .replace(/export interface Unused \{[^}]*\}\n/, '')
    .replaceAll(/^ \* (This interface was referenced by|via the `definition`).*\n/gm, '')
    .replaceAll(/\/\*\*\n(?: \*\n)* \*\/\n/g, '')
    .replaceAll(/^ \*\n \*\/$/gm, ' */')
}

function recordsOf({ components, paths }: OpenAPIV3_1.Document): Record<string, JSONSchema> {
  const records: Record<string, JSONSchema> = {
    ...(components?.schemas as Record<string, JSONSchema>),
  }
  for (const name of namesSent({ components, paths })) records[name] = optional(records[name]!)
  for (const item of Object.values(paths ?? {})) {
    for (const method of ['get', 'post', 'put', 'patch', 'delete'] as const) {
      const operation = item?.[method]
      if (!operation?.operationId) continue
      Object.assign(records, partsOf(operation.operationId, operation))
    }
  }
  return records
}

function partsOf(operationId: string, operation: OpenAPIV3_1.OperationObject) {
  const parts: Record<string, JSONSchema> = {}
  const name = operationId[0]!.toUpperCase() + operationId.slice(1)
  const query = ((operation.parameters ?? []) as OpenAPIV3_1.ParameterObject[]).filter(
    (parameter) => parameter.in === 'query',
  )
  if (query.length > 0) {
    parts[`${name}Query`] = {
      type: 'object',
      properties: Object.fromEntries(
        query.map(({ name, schema, description }) => [
          name,
          { anyOf: [queryType(schema as JSONSchema, description), UNDEFINED], description },
        ]),
      ),
    }
  }
  const body = (operation.requestBody as OpenAPIV3_1.RequestBodyObject | undefined)?.content[
    'application/json'
  ]?.schema as JSONSchema | undefined
  if (body && !('$ref' in body)) parts[`${name}Body`] = optional(body)
  const record = NAMED[operationId]
  if (record) parts[record] = unnamedRecord(operation)
  return parts
}

/** Callers with `exactOptionalPropertyTypes` pass values that they may not have. */
const UNDEFINED: JSONSchema = { tsType: 'undefined' }

/** The schema with optional properties that may also be undefined, at any depth. */
function optional<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(optional) as T
  if (typeof schema !== 'object' || schema === null) return schema
  const copy = Object.fromEntries(
    Object.entries(schema).map(([key, inner]) => [key, optional(inner)]),
  ) as JSONSchema
  for (const [name, inner] of Object.entries(copy.properties ?? {})) {
    if ((copy.required as string[] | undefined)?.includes(name)) continue
    copy.properties![name] = { anyOf: [inner, UNDEFINED], description: descriptionOf(inner) }
  }
  return copy as T
}

/** With the limits of an array, which the generator adds to the outermost schema only. */
const descriptionOf = ({ description, ...schema }: JSONSchema) =>
  (['minItems', 'maxItems'] as const)
    .filter((name) => schema[name] !== undefined)
    .reduce(
      (text, name) => `${text}\n@${name} ${schema[name]}`,
      description ? `${description}\n` : '',
    )
    .trim()

/** Names of the records that a client sends. None of them is in a response. */
function namesSent(description: Pick<OpenAPIV3_1.Document, 'components' | 'paths'>): Set<string> {
  const names = new Set<string>()
  const collect = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return
    for (const [key, inner] of Object.entries(value)) {
      const name = key === '$ref' && String(inner).split('/').at(-1)!
      if (!name) collect(inner)
      else if (!names.has(name)) {
        names.add(name)
        collect(description.components?.schemas?.[name])
      }
    }
  }
  for (const item of Object.values(description.paths ?? {})) {
    for (const operation of Object.values(item ?? {})) {
      collect((operation as OpenAPIV3_1.OperationObject).requestBody)
    }
  }
  return names
}

/** A time has no format in the description, because the API accepts several; the SDK also takes a Date. */
const queryType = (schema: JSONSchema, description = ''): JSONSchema =>
  description.includes('ISO 8601') ? { tsType: 'string | Date' } : schema

/** The `data` of a successful response, or its entries. */
function unnamedRecord({ responses }: OpenAPIV3_1.OperationObject): JSONSchema {
  const response = responses?.['200'] as OpenAPIV3_1.ResponseObject
  const schema = response.content?.['application/json']?.schema as JSONSchema
  const data = schema.properties?.data as JSONSchema
  return (data.type === 'array' ? data.items : data) as JSONSchema
}

/** References to definitions, and no examples, which the types don't show. */
function withDefinitions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withDefinitions)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).flatMap(([key, inner]): [string, unknown][] => {
    if (key === 'examples' || key === 'default') return []
    if (key === '$ref') return [[key, `#/definitions/${String(inner).split('/').at(-1)}`]]
    return [[key, withDefinitions(inner)]]
  })
  return Object.fromEntries(entries)
}
