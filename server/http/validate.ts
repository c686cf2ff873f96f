import { Ajv, type ErrorObject, type SchemaValidateFunction, type ValidateFunction } from 'ajv'
import type { FastifySchemaCompiler } from 'fastify'
import { type ApiError, type FieldMessages, notFound, validationError } from '../errors.ts'
import { refusalOfUrl } from '../outbound/public-address.ts'
import { ADDRESS_PATTERN } from '../text/mailbox.ts'
import { isStorable } from '../text/storable.ts'
import {
  COUNTRY,
  COUNTRY_IN_CAPITALS,
  NO_OUTER_BLANKS,
  NOT_BLANK,
  PAGE_ADDRESS,
  SLUG,
} from './schema.ts'

/**
 * Validates requests against their routes' schemas, which OpenAPI publishes as well. An impossible id in the path gets 404;
 * any other problem gets 422 with messages per field.
 *
 * The schemas use keywords of our own, which the published files leave out: `storable` (text without NUL and lone
 * surrogates, which PostgreSQL can't store), `singleLine` (text without control characters; if it is a `name`, also without
 * changes of direction, and not invisible), `publicUrl` (a URL that could be on the internet) and `clamped` (a query
 * integer that is adjusted instead of refused).
 */
export const validatorCompiler: FastifySchemaCompiler<Record<string, unknown>> = ({
  schema,
  httpPart,
}) => {
  const properties = (schema.properties ?? {}) as Record<string, Property>
  if (httpPart === 'params') return pathChecker(properties)
  const isQuery = httpPart === 'querystring'
  const check = compiledOnce(isQuery ? queryRules(properties, schema.required) : schema)
  const integers = isQuery
    ? Object.keys(properties).filter((name) => isInteger(properties[name]))
    : []
  return (value: unknown) => {
    const given = (value ?? {}) as Record<string, unknown>
    if (!check()(given)) return { error: refused(check()) }
    for (const name of integers) if (given[name] !== undefined) given[name] = Number(given[name])
    return { value: given }
  }
}

/** Compiles a schema to a function that returns messages by field, to check more than a route's schema can express. */
export function messagesOf(schema: object): (value: unknown) => FieldMessages {
  const check = compiledOnce(schema)
  return (value) => (check()(value) ? {} : fieldsOf(check()))
}

type Property = { type?: string; minimum?: number; maximum?: number; clamped?: boolean }

const isInteger = (property?: Property) => property?.type === 'integer' && !property.clamped

// Verbose, because the messages quote the schema.
const ajv = new Ajv({ allErrors: true, verbose: true, strict: false, useDefaults: false })

const CHECKS: Record<string, SchemaValidateFunction> = {
  storable: (_: unknown, text: string) => isStorable(text),
  singleLine: (kind: true | 'name', text: string) =>
    !CONTROL_CHARACTER.test(text) &&
    (kind !== 'name' || !(DIRECTION.test(text) || INVISIBLE.test(text))),
  publicUrl: (_: unknown, text: string) => refusalOfUrl(text) === undefined,
  integerText: ({ minimum, maximum }: { minimum: number; maximum: number }, text: string) =>
    /^\d{1,16}$/.test(text) && Number(text) >= minimum && Number(text) <= maximum,
}
for (const [keyword, validate] of Object.entries(CHECKS)) {
  ajv.addKeyword({ keyword, type: 'string', validate })
}

/** The keywords of our own, which no published schema has. */
export const OWN_KEYWORDS: ReadonlySet<string> = new Set([...Object.keys(CHECKS), 'clamped'])

/** Compiled schemas by their text: many routes and services of a process have the same ones, and compiling is slow. */
const compiled = new Map<string, ValidateFunction>()

/** Compiles a schema at its first use: a start with all schemas would take half a second longer. */
function compiledOnce(schema: object): () => ValidateFunction {
  let check: ValidateFunction | undefined
  return () => {
    check ??= compile(schema)
    return check
  }
}

function compile(schema: object): ValidateFunction {
  return compiled.getOrInsertComputed(JSON.stringify(schema), () => ajv.compile(schema))
}

/** Includes all line breaks; URL parsers drop some of these silently. `storable` covers NUL. */
const CONTROL_CHARACTER = /[\u0001-\u001f\u007f-\u009f\u2028\u2029]/

/**
 * The embeddings, overrides and isolates of directions, which would reorder the text around a name. The marks that names in
 * Hebrew or Arabic need are accepted.
 */
const DIRECTION = /[\u202a-\u202e\u2066-\u2069]/

/**
 * A text that shows nothing. No pattern of a schema, because clients compile the published patterns without the flag that
 * the property needs.
 */
const INVISIBLE = /^[\s\p{Default_Ignorable_Code_Point}]*$/u

/** Parses ids: positive safe integers. Any other text gets 404. */
function pathChecker(properties: Record<string, Property>) {
  const ids = Object.keys(properties).filter((name) => properties[name]?.type === 'integer')
  return (params: Record<string, unknown>): { value: unknown } | { error: ApiError } => {
    for (const name of ids) {
      const id = pathId(params[name])
      if (id === undefined) return { error: notFound('There is no such record.') }
      params[name] = id
    }
    return { value: params }
  }
}

/** Parses an id in a path; undefined for any other text. */
export function pathId(text: unknown): number | undefined {
  if (typeof text !== 'string' || !/^[1-9]\d{0,15}$/.test(text)) return undefined
  const id = Number(text)
  return Number.isSafeInteger(id) ? id : undefined
}

/** All values of a query are text, so integers are validated by their digits, and then become numbers. */
function queryRules(properties: Record<string, Property>, required: unknown) {
  const rules = Object.entries(properties).map(([name, property]) => {
    if (property.clamped) return [name, true]
    if (!isInteger(property)) return [name, property]
    const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = property
    return [name, { type: 'string', integerText: { minimum, maximum } }]
  })
  return {
    type: 'object',
    properties: Object.fromEntries(rules),
    ...(required ? { required } : {}),
  }
}

const refused = (check: ValidateFunction): ApiError => validationError(fieldsOf(check))

function fieldsOf(check: ValidateFunction): FieldMessages {
  // An object without inherited names, because a field can be called `constructor`.
  const fields: FieldMessages = Object.create(null)
  for (const error of (check.errors ?? []).slice(0, MAX_MESSAGES)) {
    const field = fieldOf(error)
    fields[field] ??= []
    const message = messageOf(field, error)
    if (!fields[field].includes(message)) fields[field].push(message)
  }
  return fields
}

/**
 * Maximum number of messages in one response. A message has at most about 300 bytes, because it quotes the schema and
 * never the request, so a response stays below 64 KiB.
 */
export const MAX_MESSAGES = 100

/** `/shipping_options/0/price` → `shipping_options.0.price` */
function fieldOf({ instancePath, keyword, params }: ErrorObject): string {
  const path = instancePath
    .split('/')
    .slice(1)
    // A name can come from the request where a schema allows any.
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~').slice(0, 150))
  if (keyword === 'required') path.push(params.missingProperty)
  if (keyword === 'additionalProperties') path.push(params.additionalProperty.slice(0, 64))
  return path.join('.') || 'body'
}

const A_TYPE: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
}

/** The requirement that a message states, by the pattern of the schema. */
const BY_PATTERN: Record<string, string> = {
  [NOT_BLANK]: 'must not be empty',
  [NO_OUTER_BLANKS]: 'must not begin or end with a blank',
  [ADDRESS_PATTERN]: 'must be an e-mail address, such as ash@mail.example',
  [COUNTRY]: 'must be an ISO country code of two letters, such as NL',
  [COUNTRY_IN_CAPITALS]: 'must be an ISO country code of two capital letters, such as NL',
  [SLUG]: 'must be lower-case letters, digits and single hyphens',
  [PAGE_ADDRESS]: 'must begin with http:// or https://',
}

function messageOf(field: string, { keyword, params, schema, data }: ErrorObject): string {
  switch (keyword) {
    case 'required':
      return `The ${field} field is required.`
    case 'additionalProperties':
      return `There is no field ${field}.`
    case 'type':
      return `The ${field} field must be ${[params.type]
        .flat()
        .filter((type) => type !== 'null')
        .map((type) => A_TYPE[type])
        .join(' or ')}.`
    case 'enum':
      return `The selected ${field} is not valid. Possible: ${(schema as unknown[]).join(', ')}.`
    case 'pattern':
      return `The ${field} field ${BY_PATTERN[schema as string] ?? 'is not valid'}.`
    case 'minLength':
      return params.limit === 1
        ? `The ${field} field must not be empty.`
        : `The ${field} field must be at least ${params.limit} characters.`
    case 'maxLength':
      return `The ${field} field must not be longer than ${params.limit} characters.`
    case 'minItems':
      return `The ${field} field must have at least ${params.limit} ${params.limit === 1 ? 'entry' : 'entries'}.`
    case 'maxItems':
      return `The ${field} field must not have more than ${params.limit} entries.`
    case 'uniqueItems':
      return `The ${field} field must not have the same entry twice.`
    case 'minimum':
      return `The ${field} field must be at least ${params.limit}.`
    case 'maximum':
      return `The ${field} field must not be greater than ${params.limit}.`
    case 'integerText':
      return `The ${field} field must be an integer from ${(schema as { minimum: number }).minimum} to ${(schema as { maximum: number }).maximum}.`
    case 'publicUrl':
      return `The ${field} field ${refusalOfUrl(data as string)}`
    case 'singleLine':
      if (INVISIBLE.test(data as string)) return `The ${field} field must not be empty.`
      return `The ${field} field must not contain line breaks or other control characters.`
    case 'storable':
      return `The ${field} field contains characters that cannot be stored.`
    default:
      return `The ${field} field is not valid.`
  }
}
