import fc from 'fast-check'
import { type Random, seededRandom } from '../random.ts'
import { boundaryString, INVALID_TOKENS } from './mutations.ts'
import type { Schema } from './operations.ts'

/**
 * Writes JSON for a schema, valid or invalid in one place. It writes text because JavaScript values cannot hold
 * duplicate keys, 1e400 or -0.
 */

/** A value for a field by its name, such as an existing id; undefined leaves the choice to the schema. */
export type Known = (field: string, random: Random) => unknown

export type Values = {
  random: Random
  known: Known
  /** Optional fields that every object includes. */
  always?: readonly string[]
  /** Index of the place to make invalid, in the order of writing. */
  invalidAt?: number
}

const OPTIONAL_SHARE = 0.4
const MAX_LIST_LENGTH = 4

export function jsonFor(schema: Schema, values: Values): string {
  return writer(values).write(schema, '')
}

/** Writes JSON that is invalid in one place. */
export function nearlyJsonFor(
  schema: Schema,
  { known, random }: Omit<Values, 'invalidAt'>,
): string {
  // Two writers with the same seed: the first counts the places, the second makes one of them invalid.
  const seed = random.integer(0, 2 ** 31)
  const counting = writer({ known, random: seededRandom(seed) })
  counting.write(schema, '')
  const invalidAt = random.integer(0, counting.places() - 1)
  return writer({ known, random: seededRandom(seed), invalidAt }).write(schema, '')
}

function writer({ random, known, always = [], invalidAt }: Values) {
  let places = 0

  const write = (schema: Schema, field: string): string => {
    const options = schema.oneOf ?? schema.anyOf
    if (options) return write(random.pick(options), field)
    const isInvalid = places++ === invalidAt
    const type = typeOf(schema, random)
    if (isInvalid && random.chance(0.4)) return random.pick(INVALID_TOKENS)
    if (type === 'object') return object(schema, isInvalid)
    if (type === 'array') return array(schema, field, isInvalid)
    if (isInvalid) return boundary(schema, type)
    if (type === 'null') return 'null'
    const value = known(field, random)
    const text = Array.isArray(value) && type === 'string' ? value.join() : value
    return JSON.stringify(fits(text, type) ? text : plain(schema, type))
  }

  const object = ({ properties = {}, required = [] }: Schema, isInvalid: boolean): string => {
    const entries: string[] = []
    const fault = isInvalid
      ? random.pick(['missing', 'duplicate', 'extra', 'null'] as const)
      : undefined
    const names = Object.keys(properties).filter(
      (name) => required.includes(name) || always.includes(name) || random.chance(OPTIONAL_SHARE),
    )
    const target = names.length > 0 ? random.pick(names) : undefined
    for (const name of names) {
      const text = `${JSON.stringify(name)}:${write(properties[name]!, name)}`
      if (name !== target || fault === undefined || fault === 'extra') entries.push(text)
      else if (fault === 'duplicate') entries.push(text, text)
      else if (fault === 'null') entries.push(`${JSON.stringify(name)}:null`)
    }
    if (fault === 'extra') {
      entries.push(`${JSON.stringify(random.pick(EXTRA_KEYS))}:${random.pick(INVALID_TOKENS)}`)
    }
    return `{${entries.join(',')}}`
  }

  const array = (schema: Schema, field: string, isInvalid: boolean): string => {
    const value = known(field, random)
    if (Array.isArray(value) && !isInvalid) return JSON.stringify(value)
    const { minItems = 0, maxItems = MAX_LIST_LENGTH, items = {} } = schema
    const max = Math.min(maxItems, MAX_LIST_LENGTH)
    const count = isInvalid
      ? random.pick([0, Math.min(maxItems, 1_500) + 1])
      : random.integer(Math.min(minItems, max), max)
    const first = write(items, field)
    // The entries of an oversized list are equal: they are cheap to write.
    const entries = Array.from({ length: count }, (_, i) =>
      i === 0 || isInvalid ? first : write(items, field),
    )
    return `[${entries.join(',')}]`
  }

  const boundary = (schema: Schema, type: string): string => {
    if (type === 'string') return boundaryString(schema, plain(schema, type) as string, random)
    const { minimum = 0, maximum = 1_000 } = schema
    return String(
      random.pick([minimum - 1, maximum + 1, minimum, maximum, minimum + 0.001, -minimum, '-0']),
    )
  }

  const plain = (schema: Schema, type: string): unknown => {
    if (schema.const !== undefined) return schema.const
    const allowed = schema.enum?.filter((value) => value !== null)
    if (allowed) return random.pick(allowed)
    if (type === 'boolean') return random.chance(0.5)
    if (type === 'string') return text(schema, random)
    const { minimum = 0, maximum = 1_000 } = schema
    // Mostly small numbers, so that stock lasts for several buyers.
    const value = random.chance(0.1)
      ? random.pick([minimum, maximum])
      : Math.min(maximum, minimum + random.integer(0, 5) + (type === 'number' ? 0.25 : 0))
    return value
  }

  return { write, places: () => places }
}

function typeOf({ type, enum: values, properties }: Schema, random: Random): string {
  if (Array.isArray(type)) return random.chance(0.9) ? type[0]! : random.pick(type)
  if (type) return type
  if (values) return typeof values[0]
  return properties ? 'object' : 'string'
}

const fits = (value: unknown, type: string) =>
  value !== undefined &&
  (type === 'integer' || type === 'number' ? 'number' : type) === typeof value

const WORDS = [
  'NM',
  'Misty',
  'cerulean',
  'Straat 5',
  'Ölm',
  'Ashé',
  '🂡 😀',
  'שלום',
  'é́́',
  "O'Hara",
  'a',
]
const EXTRA_KEYS = [
  '__proto__',
  'constructor',
  'toString',
  'id',
  'sku',
  '',
  '\u0000',
  'x'.repeat(300),
]
const MAX_CHARACTERS = 40

function text(
  { pattern, format, minLength = 0, maxLength = MAX_CHARACTERS }: Schema,
  random: Random,
) {
  if (format === 'date-time') return random.pick(['2026-03-01T09:30:00Z', '2026-03-01'])
  if (pattern) return matching(pattern, maxLength, random)
  const word = random.pick(WORDS)
  const characters = [...word.repeat(Math.ceil(minLength / word.length) || 1)]
  return characters.slice(0, Math.max(minLength, Math.min(maxLength, characters.length))).join('')
}

function matching(pattern: string, maxLength: number, random: Random): string {
  const found = fc
    .stringMatching(new RegExp(pattern, 'u'), { size: 'small' })
    .filter((text) => [...text].length <= maxLength)
  return fc.sample(found, { seed: random.integer(0, 2 ** 31 - 1), numRuns: 1 })[0]!
}
