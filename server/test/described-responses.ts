import { Ajv2020, type Options } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { DESCRIPTIONS } from './descriptions.ts'

type Description = {
  operations: Located[]
  mismatch: Mismatch
  components: Record<string, Described>
}

/** An operation with the pattern of its paths and its location in the description. */
type Located = { path: RegExp; method: string; at: string; operation: Operation }

type Operation = { responses: Record<string, Described> }

/** A response, or a reference to one of the components. */
type Described = { $ref?: string; headers?: Record<string, unknown> }

/** Reads a description of the service; undefined if there is none. */
type Read = (path: string) => Promise<object | undefined>

const known = new Map<string | symbol, Promise<Description[]>>()

/** Headers that a response has only if it is described with them. */
const HEADERS =
  /^(x-request-id|x-ignored-fields|x-ratelimit-\w+|www-authenticate|retry-after|etag)$/

/** Headers that a response has always if it is described with them. */
const REQUIRED = ['x-request-id', 'www-authenticate', 'retry-after']

/**
 * Checks responses against the published descriptions: an operation must describe each status that it returns, with its
 * headers, and the body must match its schema without additional keys. Paths outside of these APIs are not checked.
 *
 * @param settings the settings that the descriptions depend on. Services with the same settings share the descriptions,
 *   because reading and compiling them takes as long as a start
 */
export function describedResponses(read: Read, settings: string | symbol = Symbol()) {
  return async (
    method: string,
    url: string,
    { status, body, headers }: { status: number; body: unknown; headers: Record<string, unknown> },
  ): Promise<void> => {
    let descriptions = known.get(settings)
    if (!descriptions) {
      descriptions = Promise.all(
        DESCRIPTIONS.map(({ path, prefix }) => readDescription(read, path, prefix)),
      )
      known.set(settings, descriptions)
    }
    for (const description of await descriptions) {
      const operation = operationAt(description, method, url)
      if (!operation) continue
      const schema = schemaAt(operation, status)
      checkHeaders(description, operation, status, Object.keys(headers))
      if (body === undefined) continue
      const mismatch = description.mismatch(schema, body)
      if (mismatch) {
        throw new Error(
          `${method} ${url} returned ${status} with a body that does not match its description: ${mismatch}`,
        )
      }
    }
  }
}

/** Throws if a response has a header that its description lacks, or lacks a required one that it has. */
function checkHeaders(
  { components }: Description,
  { at, operation }: Located,
  status: number,
  names: string[],
): void {
  const response = operation.responses[status]
  if (!response) return
  const { headers = {} } = response.$ref ? components[response.$ref.split('/').at(-1)!]! : response
  const described = Object.keys(headers).map((name) => name.toLowerCase())
  const undescribed = names.filter((name) => HEADERS.test(name) && !described.includes(name))
  const missing = REQUIRED.filter((name) => described.includes(name) && !names.includes(name))
  if (undescribed.length > 0) throw new Error(`${at} does not describe ${undescribed} of ${status}`)
  if (missing.length > 0)
    throw new Error(`${at} describes ${missing} of ${status}, which is missing`)
}

/** Returns how a value violates the schema at a location (`#/components/schemas/…`); null if it is valid. */
type Mismatch = (place: string, value: unknown) => string | null

/** Checks that descriptions are valid schemas. One for all, because the schema of schemas takes 10 ms to compile. */
const schemaValidator = createValidator()

/** Checks values against the schemas of a published description, without additional keys. */
export function mismatchesOf(document: object): Mismatch {
  const schema = { $id: 'document', ...closed(document) }
  schemaValidator.validateSchema(schema, true)
  const ajv = createValidator({ validateSchema: false })
  ajv.addSchema(schema)
  return (place, value) => {
    const at = `document${place}`
    const check = ajv.getSchema(at) ?? ajv.compile({ $ref: at })
    return check(value) ? null : ajv.errorsText(check.errors)
  }
}

function createValidator(options: Options = {}): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, allErrors: true, ...options })
  ;(addFormats as unknown as (ajv: Ajv2020) => void)(ajv)
  return ajv
}

async function readDescription(read: Read, path: string, prefix: string): Promise<Description> {
  const document = ((await read(path)) ?? { paths: {} }) as {
    paths: Record<string, Record<string, Operation>>
    components?: { responses?: Record<string, Described> }
  }
  const operations = Object.entries(document.paths).flatMap(operationsAt(prefix))
  return {
    operations,
    mismatch: mismatchesOf(document),
    components: document.components?.responses ?? {},
  }
}

const operationsAt =
  (prefix: string) =>
  ([template, methods]: [string, Record<string, Operation>]): Located[] => {
    const path = new RegExp(`^${prefix}${template.replace(/\{[^}]+\}/g, '[^/]+')}$`)
    const place = template.replaceAll('~', '~0').replaceAll('/', '~1')
    return Object.entries(methods).map(([method, operation]) => ({
      path,
      method,
      at: `${place}/${method}`,
      operation,
    }))
  }

function operationAt({ operations }: Description, method: string, url: string) {
  const address = url.split('?')[0]!.replace(/\/$/, '')
  const wanted = method.toLowerCase()
  return operations.find(({ path, method }) => method === wanted && path.test(address))
}

/** The location of the schema for a status. Throws if the operation does not describe it. */
function schemaAt({ at, operation }: Located, status: number): string {
  const described = operation.responses[status]
  if (described) {
    const place = described.$ref ?? `#/paths/${at}/responses/${status}`
    return `${place}/content/application~1json/schema`
  }
  // These errors occur before routing. All operations share them, and docs/errors.md describes them.
  if (![400, 405, 417, 431].includes(status)) throw new Error(`${at} does not describe ${status}`)
  return '#/components/schemas/ErrorBody'
}

/**
 * Forbids additional properties, so that a test fails on an undescribed field.
 *
 * @param isPart whether the schema is a part of an intersection, which has further fields in its other parts
 */
function closed<T>(value: T, isPart = false): T {
  if (Array.isArray(value)) return value.map((inner) => closed(inner, isPart)) as T
  if (typeof value !== 'object' || value === null) return value
  const copy = Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, closed(inner, key === 'allOf')]),
  )
  if (isPart) return copy as T
  if (copy.allOf) return { ...copy, unevaluatedProperties: false } as T
  const isObject = copy.type === 'object' && copy.properties && !('additionalProperties' in copy)
  return (isObject ? { ...copy, additionalProperties: false } : copy) as T
}
