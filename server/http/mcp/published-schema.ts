import type { TSchema } from 'typebox'
import { components } from '../schema.ts'
import { OWN_KEYWORDS } from '../validate.ts'

/** Keywords that only our own validator knows, and those that a model has no use for. */
const LEFT_OUT = new Set([...OWN_KEYWORDS, '$id', 'examples'])

/** From here on, upper limits are those of ids and pages. No caller reaches them, so the list of tools omits them. */
const NO_LIMIT = 1_000_000_000

/** Levels of objects in a result that its published outline shows. */
const OUTLINE_DEPTH = 2

type Schema = { [keyword: string]: unknown }

/** A schema as `tools/list` shows it: without references and our own keywords. */
export const published = (schema: TSchema): Schema => written(schema as Schema, LEFT_OUT)

/**
 * The outline of a result's schema: names and types, because `tools/list` must stay small. The result shows the rest, and
 * the documents among the resources describe it.
 */
export const outline = (schema: TSchema): Schema => {
  const outlined = cut(written(schema as Schema, OUTLINE_LEFT_OUT), OUTLINE_DEPTH)
  return { ...outlined, type: 'object' }
}

const OUTLINE_LEFT_OUT = new Set([
  ...LEFT_OUT,
  ...[
    'description',
    'format',
    'enum',
    'minimum',
    'maximum',
    'pattern',
    'required',
    'discriminator',
  ],
])

function written(schema: Schema, leftOut: Set<string>): Schema {
  const { $ref } = schema
  if (typeof $ref === 'string') {
    const named = components.get($ref.slice(0, -1)) as unknown as Schema
    return written({ ...named, ...schema, $ref: undefined }, leftOut)
  }
  const inner = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inner)
    return typeof value === 'object' && value !== null ? written(value as Schema, leftOut) : value
  }
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword, value]) => value !== undefined && !leftOut.has(keyword))
      .filter(([keyword, value]) => keyword !== 'maximum' || Number(value) < NO_LIMIT)
      .map(([keyword, value]) =>
        keyword === 'properties'
          ? [keyword, writtenProperties(value as Record<string, Schema>, leftOut)]
          : // Items of a list that is validated item by item, after the schema.
            [keyword === 'x-items' ? 'items' : keyword, inner(value)],
      ),
  )
}

/** Names of properties are not keywords: an order has a `description` too. */
const writtenProperties = (properties: Record<string, Schema>, leftOut: Set<string>) =>
  Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, written(property, leftOut)]),
  )

/** Removes the contents of objects and lists below a depth. */
function cut(schema: Schema, depth: number): Schema {
  const { properties, patternProperties, items, type } = schema as {
    properties?: Record<string, Schema>
    patternProperties?: unknown
    items?: Schema
    type?: unknown
  }
  if (depth === 0 && (properties ?? patternProperties)) return { type: type ?? 'object' }
  if (properties) {
    const entries = Object.entries(properties).map(([name, inner]) => [name, cut(inner, depth - 1)])
    return { type, properties: Object.fromEntries(entries) }
  }
  if (items) return depth === 0 ? { type } : { type, items: cut(items, depth) }
  return schema.anyOf || schema.oneOf ? {} : schema
}
