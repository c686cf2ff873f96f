import fc from 'fast-check'
import { type Chance, chanceFrom } from '../random.ts'
import { TWISTED_TOKENS, twistedString } from './mutations.ts'
import type { Schema } from './operations.ts'

/**
 * Writes JSON for a schema: valid, or wrong in one place. It writes text because JavaScript values cannot hold duplicate
 * keys, 1e400 or -0.
 */

/** A value for a field by its name, such as an existing id; undefined leaves the choice to the schema. */
export type Known = (field: string, chance: Chance) => unknown

export type Values = {
  chance: Chance
  known: Known
  /** Optional fields to include always. */
  always?: readonly string[]
  /** Index of the place to make wrong, in writing order. */
  wrongAt?: number
}

const OPTIONAL_SHARE = 0.4
const LONGEST_LIST = 4

export function jsonFor(schema: Schema, values: Values): string {
  return writer(values).write(schema, '')
}

/** Writes JSON with one place wrong. */
export function nearlyJsonFor(schema: Schema, { known, chance }: Omit<Values, 'wrongAt'>): string {
  // Two writers with equal chances: the first counts the places, the second makes one of them wrong.
  const seed = chance.whole(0, 2 ** 31)
  const counting = writer({ known, chance: chanceFrom(seed) })
  counting.write(schema, '')
  const wrongAt = chance.whole(0, counting.places() - 1)
  return writer({ known, chance: chanceFrom(seed), wrongAt }).write(schema, '')
}

function writer({ chance, known, always = [], wrongAt }: Values) {
  let places = 0

  const write = (schema: Schema, field: string): string => {
    const options = schema.oneOf ?? schema.anyOf
    if (options) return write(chance.oneOf(options), field)
    const isWrong = places++ === wrongAt
    const type = typeOf(schema, chance)
    if (isWrong && chance.is(0.4)) return chance.oneOf(TWISTED_TOKENS)
    if (type === 'object') return object(schema, isWrong)
    if (type === 'array') return array(schema, field, isWrong)
    if (isWrong) return twisted(schema, type)
    if (type === 'null') return 'null'
    const value = known(field, chance)
    return JSON.stringify(fits(value, type) ? value : plain(schema, type))
  }

  const object = ({ properties = {}, required = [] }: Schema, isWrong: boolean): string => {
    const entries: string[] = []
    const wrong = isWrong ? chance.oneOf(['missing', 'twice', 'more', 'null'] as const) : undefined
    const names = Object.keys(properties).filter(
      (name) => required.includes(name) || always.includes(name) || chance.is(OPTIONAL_SHARE),
    )
    const victim = names.length > 0 ? chance.oneOf(names) : undefined
    for (const name of names) {
      const text = `${JSON.stringify(name)}:${write(properties[name]!, name)}`
      if (name !== victim || wrong === undefined || wrong === 'more') entries.push(text)
      else if (wrong === 'twice') entries.push(text, text)
      else if (wrong === 'null') entries.push(`${JSON.stringify(name)}:null`)
    }
    if (wrong === 'more') {
      entries.push(`${JSON.stringify(chance.oneOf(MORE_KEYS))}:${chance.oneOf(TWISTED_TOKENS)}`)
    }
    return `{${entries.join(',')}}`
  }

  const array = (schema: Schema, field: string, isWrong: boolean): string => {
    const value = known(field, chance)
    if (Array.isArray(value) && !isWrong) return JSON.stringify(value)
    const { minItems = 0, maxItems = LONGEST_LIST, items = {} } = schema
    const most = Math.min(maxItems, LONGEST_LIST)
    const count = isWrong
      ? chance.oneOf([0, Math.min(maxItems, 1_500) + 1])
      : chance.whole(Math.min(minItems, most), most)
    const one = write(items, field)
    // The entries of an oversized list are equal: they are cheap to write.
    const entries = Array.from({ length: count }, (_, i) =>
      i === 0 || isWrong ? one : write(items, field),
    )
    return `[${entries.join(',')}]`
  }

  const twisted = (schema: Schema, type: string): string => {
    if (type === 'string') return twistedString(schema, plain(schema, type) as string, chance)
    const { minimum = 0, maximum = 1_000 } = schema
    return String(
      chance.oneOf([minimum - 1, maximum + 1, minimum, maximum, minimum + 0.001, -minimum, '-0']),
    )
  }

  const plain = (schema: Schema, type: string): unknown => {
    if (schema.const !== undefined) return schema.const
    const allowed = schema.enum?.filter((value) => value !== null)
    if (allowed) return chance.oneOf(allowed)
    if (type === 'boolean') return chance.is(0.5)
    if (type === 'string') return text(schema, chance)
    const { minimum = 0, maximum = 1_000 } = schema
    // Mostly small numbers, so that stock lasts for several buyers.
    const value = chance.is(0.1)
      ? chance.oneOf([minimum, maximum])
      : Math.min(maximum, minimum + chance.whole(0, 5) + (type === 'number' ? 0.25 : 0))
    return value
  }

  return { write, places: () => places }
}

function typeOf({ type, enum: values, properties }: Schema, chance: Chance): string {
  if (Array.isArray(type)) return chance.is(0.9) ? type[0]! : chance.oneOf(type)
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
const MORE_KEYS = [
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
  chance: Chance,
) {
  if (format === 'date-time') return chance.oneOf(['2026-03-01T09:30:00Z', '2026-03-01'])
  if (pattern) return matching(pattern, maxLength, chance)
  const word = chance.oneOf(WORDS)
  const characters = [...word.repeat(Math.ceil(minLength / word.length) || 1)]
  return characters.slice(0, Math.max(minLength, Math.min(maxLength, characters.length))).join('')
}

function matching(pattern: string, maxLength: number, chance: Chance): string {
  const found = fc
    .stringMatching(new RegExp(pattern, 'u'), { size: 'small' })
    .filter((text) => [...text].length <= maxLength)
  return fc.sample(found, { seed: chance.whole(0, 2 ** 31 - 1), numRuns: 1 })[0]!
}
