import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { TSchema } from 'typebox'
import { components } from './schema.ts'

/**
 * An onRoute hook: removes unknown body fields before validation, and names unknown fields and parameters in
 * `X-Ignored-Fields`.
 */
export function readKnownFields(route: RouteOptions): void {
  const { body = NO_FIELDS, querystring = NO_FIELDS } = route.schema ?? {}
  const readBody = knownFields(body as object)
  const parameters = new Set(Object.keys((querystring as Schema).properties ?? {}))
  const read = (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    const ignored = new IgnoredFields()
    if (isJsonObject(request.body)) request.body = readBody(request.body, ignored)
    ignored.add(request.query as object, parameters)
    const { header } = ignored
    if (header !== undefined) reply.header('x-ignored-fields', header)
    done()
  }
  route.preValidation = [read, route.preValidation ?? []].flat()
}

const NO_FIELDS = { properties: {} }

/** The body of a catalog import is a stream instead. */
const isJsonObject = (body: unknown) =>
  typeof body === 'object' && body !== null && Object.getPrototypeOf(body) === Object.prototype

/** Copies the known fields of a value at `path` in the body, and adds the names of the others to `ignored`. */
type Reader = (value: unknown, path: string, ignored: IgnoredFields) => unknown

type Schema = {
  $ref?: string
  oneOf?: Schema[]
  properties?: Record<string, Schema>
  items?: Schema
  'x-items'?: Schema
  maxItems?: number
  type?: string | string[]
}

/**
 * Copies the parts of a body that its schema knows: the declared properties of objects, and at most `maxItems` + 1 entries
 * of an array, so that validation still refuses a longer one. The schema bounds the work, not the body.
 *
 * @throws if a schema has an array without `maxItems`
 */
export function knownFields(schema: object): (body: unknown, ignored: IgnoredFields) => unknown {
  const read = readerOf(schema)
  return (body, ignored) => read(body, '', ignored)
}

function readerOf(schema: Schema): Reader {
  const { properties, items, 'x-items': shownItems, maxItems, type } = resolved(schema)
  if (properties) return objectReader(properties)
  if (![type].flat().includes('array')) return (value) => value
  if (maxItems === undefined) throw new Error('An array in a request needs maxItems.')
  return arrayReader(readerOf(items ?? shownItems ?? {}), maxItems)
}

function objectReader(properties: Record<string, Schema>): Reader {
  const readers = new Map(
    Object.entries(properties).map(([name, schema]) => [name, readerOf(schema)]),
  )
  return (value, path, ignored) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const given = value as Record<string, unknown>
    const known: Record<string, unknown> = {}
    for (const [name, read] of readers) {
      if (Object.hasOwn(given, name)) known[name] = read(given[name], `${path}${name}.`, ignored)
    }
    ignored.add(given, readers, path)
    return known
  }
}

function arrayReader(read: Reader, maxItems: number): Reader {
  return (value, path, ignored) => {
    if (!Array.isArray(value)) return value
    return value
      .slice(0, maxItems + 1)
      .map((entry, index) => read(entry, `${path}${index}.`, ignored))
  }
}

/** Merges alternatives: a property of any of them counts as known. */
function resolved(schema: Schema): Schema {
  if (schema.$ref !== undefined) {
    return resolved((components.get(schema.$ref.slice(0, -1)) ?? {}) as TSchema & Schema)
  }
  if (!schema.oneOf) return schema
  const alternatives = schema.oneOf.map((alternative) => resolved(alternative).properties)
  return { properties: Object.assign({}, ...alternatives) }
}

const MAX_NAMES = 20
/** Maximum length of one name, in characters of the header. */
const MAX_NAME_LENGTH = 64
const MORE = '...'

/**
 * Names of unknown fields and parameters, for the header `X-Ignored-Fields`. A name can contain characters that a header
 * can't, so names are percent-encoded, including dots within a name. Long names are cut.
 */
export class IgnoredFields {
  readonly #names: string[] = []

  /** Adds the unknown names of an object, up to one more than the header shows. */
  add(given: object, known: { has(name: string): boolean }, path = ''): void {
    if (this.#isFull) return
    for (const name in given) {
      if (known.has(name)) continue
      this.#names.push(path + encoded(name))
      if (this.#isFull) return
    }
  }

  /** The header's value, or undefined if all fields are known. */
  get header(): string | undefined {
    if (this.#names.length === 0) return undefined
    return (this.#isFull ? [...this.#names.slice(0, MAX_NAMES), MORE] : this.#names).join(', ')
  }

  get #isFull(): boolean {
    return this.#names.length > MAX_NAMES
  }
}

function encoded(name: string): string {
  let text = ''
  for (const character of name) {
    const piece = encodeURIComponent(character.toWellFormed()).replace('.', '%2E')
    if (text.length + piece.length > MAX_NAME_LENGTH) return text + MORE
    text += piece
  }
  return text
}
