import { LANGUAGES, PRODUCT_CATEGORIES } from '../enums.ts'

/**
 * One line of a catalog import, with the keys of the import format. Missing values are null. Without `visible` an
 * existing record stays hidden or visible, and a new one is visible.
 */
export type CatalogRecord = SeriesRecord | SetRecord | CardRecord | ProductRecord

export type SeriesRecord = { type: 'series'; name: string; shortcut: string | null }

export type SetRecord = {
  type: 'set'
  id: string
  shortcut: string | null
  name: string
  series: string
  language: string
  region: string
  release_date: string | null
  total_cards: number | null
  printed_total: number | null
  logo_url: string | null
  symbol_url: string | null
  visible?: boolean
}

export type CardRecord = {
  type: 'card'
  id: string
  set_id: string
  name: string
  number: string
  rarity: string | null
  supertype: string | null
  hp: string | null
  types: string[] | null
  image_small: string | null
  image_large: string | null
  visible?: boolean
}

export type ProductRecord = {
  type: 'product'
  slug: string
  name: string
  category: string
  set_id: string | null
  image_url: string | null
  release_date: string | null
  visible?: boolean
}

/** An invalid line of an import. The message names the record if it has a key. */
export class BadRecord extends Error {
  override name = 'BadRecord'
  /** The message without the record's name. */
  readonly reason: string

  constructor(reason: string) {
    // A file can contain a million invalid lines, and a stack trace would cost more than the rest of the check.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(reason)
    Error.stackTraceLimit = stackTraceLimit
    this.reason = reason
  }
}

/** Maximum lengths in code points; `label` in UTF-16 units. */
const MAX_LENGTH = {
  id: 100,
  slug: 150,
  name: 255,
  word: 50,
  series: 100,
  shortcut: 100,
  url: 2048,
  label: 200,
}
const MAX_TYPES = 20
/** Maximum of an `integer` column. */
const MAX_COUNT = 2_147_483_647
/** A friendly card id is `{shortcut}_{number}`, so a shortcut has no underscore. */
const SHORTCUT = /^[a-z0-9][a-z0-9.-]*$/i
const SLUG = /^[a-z0-9]+(-[a-z0-9]+)*$/

/**
 * Parses one line of an import. Unknown keys are ignored; a missing optional key, or an empty string, is null.
 *
 * @throws BadRecord
 */
export function parseRecord(line: string): CatalogRecord {
  const fields = parseObject(line)
  try {
    return readRecord(fields)
  } catch (error) {
    const label = labelOf(fields)
    if (error instanceof BadRecord && label) error.message = `${label}: ${error.reason}`
    throw error
  }
}

/** The key that makes a record unique among those of its type. */
export function keyOf(record: CatalogRecord): string {
  switch (record.type) {
    case 'series':
      return record.name
    case 'product':
      return record.slug
    default:
      return record.id
  }
}

const TYPES: readonly unknown[] = [
  'series',
  'set',
  'card',
  'product',
] satisfies CatalogRecord['type'][]

/** The type and key of a record for rejections, such as `card base1-4`. Empty if the record has no key. */
export function labelOf(record: Fields): string {
  const { type, id, slug, name } = record
  const key = [type === 'series' ? name : undefined, id, slug, name].find(
    (value) => (typeof value === 'string' && value !== '') || typeof value === 'number',
  )
  if (key === undefined) return ''
  // The key may be invalid itself: long, or with any characters.
  const label = TYPES.includes(type) ? `${type} ${key}` : String(key)
  const short = label.length > MAX_LENGTH.label ? `${label.slice(0, MAX_LENGTH.label)}…` : label
  return short.toWellFormed().replace(/\p{Cc}/gu, '?')
}

function readRecord(fields: Fields): CatalogRecord {
  switch (fields.type) {
    case 'series':
      return {
        type: 'series',
        name: requiredText(fields, 'name', MAX_LENGTH.series),
        shortcut: shortcut(fields),
      }
    case 'set':
      return {
        type: 'set',
        id: requiredCode(fields, 'id', MAX_LENGTH.id),
        shortcut: shortcut(fields),
        name: requiredText(fields, 'name', MAX_LENGTH.name),
        series: requiredText(fields, 'series', MAX_LENGTH.series),
        language: oneOf(fields, 'language', LANGUAGES),
        region: region(fields),
        release_date: day(fields, 'release_date'),
        total_cards: count(fields, 'total_cards'),
        printed_total: count(fields, 'printed_total'),
        logo_url: url(fields, 'logo_url'),
        symbol_url: url(fields, 'symbol_url'),
        ...visibility(fields),
      }
    case 'card':
      return {
        type: 'card',
        id: requiredCode(fields, 'id', MAX_LENGTH.id),
        set_id: requiredCode(fields, 'set_id', MAX_LENGTH.id),
        name: requiredText(fields, 'name', MAX_LENGTH.name),
        number: requiredCode(fields, 'number', MAX_LENGTH.word),
        rarity: text(fields, 'rarity', MAX_LENGTH.word),
        supertype: supertype(fields),
        hp: hitPoints(fields),
        types: types(fields),
        image_small: url(fields, 'image_small'),
        image_large: url(fields, 'image_large'),
        ...visibility(fields),
      }
    case 'product':
      return {
        type: 'product',
        slug: slug(fields),
        name: requiredText(fields, 'name', MAX_LENGTH.name),
        category: oneOf(fields, 'category', PRODUCT_CATEGORIES),
        set_id: code(fields, 'set_id', MAX_LENGTH.id),
        image_url: url(fields, 'image_url'),
        release_date: day(fields, 'release_date'),
        ...visibility(fields),
      }
    default:
      throw new BadRecord('type must be series, set, card or product')
  }
}

type Fields = Record<string, unknown>

function parseObject(line: string): Fields {
  // A failing JSON.parse costs a hundred times as much as this check of both ends.
  const text = line.trim()
  if (!text.startsWith('{')) throw new BadRecord('not a JSON object')
  if (!text.endsWith('}')) throw new BadRecord('not valid JSON')
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    throw new BadRecord('not valid JSON')
  }
  return value as Fields
}

/** A string as given, or null. */
function stringOrNull(fields: Fields, key: string): string | null {
  const value = fields[key] ?? null
  if (value === null || value === '') return null
  if (typeof value !== 'string') throw new BadRecord(`${key} must be a string`)
  return storable(value, key)
}

/** Rejects characters that JSON escapes can produce and PostgreSQL cannot store. */
function storable(value: string, name: string): string {
  if (value.includes('\0')) throw new BadRecord(`${name} must not contain the NUL character`)
  if (!value.isWellFormed()) throw new BadRecord(`${name} must not contain half a surrogate pair`)
  return value
}

function limitLength(value: string, name: string, max: number): string {
  // A string has at most as many code points as UTF-16 units, so most values need no counting.
  if (value.length > max && [...value].length > max) {
    throw new BadRecord(`${name} must have at most ${max} characters`)
  }
  return value
}

/** Text for people, normalized to NFC, so that equal names are equal strings. */
function text(fields: Fields, key: string, max: number): string | null {
  const value = stringOrNull(fields, key)
  return value === null ? null : normalText(value, key, max)
}

function normalText(value: string, name: string, max: number): string {
  const normal = value.normalize('NFC')
  if (/\p{Cc}/u.test(normal)) throw new BadRecord(`${name} must not contain control characters`)
  if (normal.trim() === '') throw new BadRecord(`${name} must not be blank`)
  return limitLength(normal, name, max)
}

function requiredText(fields: Fields, key: string, max: number): string {
  return text(fields, key, max) ?? missing(key)
}

/** An identifier, which is compared byte by byte and therefore not normalized: it must survive URLs and forms. */
function code(fields: Fields, key: string, max: number): string | null {
  const value = stringOrNull(fields, key)
  if (value === null) return null
  if (value !== value.trim()) throw new BadRecord(`${key} must not begin or end with a space`)
  if (/\p{Cc}/u.test(value)) throw new BadRecord(`${key} must not contain control characters`)
  // Clients and proxies remove these segments from a URL, even when they are percent-encoded.
  if (/^\.\.?$/.test(value)) throw new BadRecord(`${key} must not be . or ..`)
  return limitLength(value, key, max)
}

function requiredCode(fields: Fields, key: string, max: number): string {
  return code(fields, key, max) ?? missing(key)
}

function missing(key: string): never {
  throw new BadRecord(`${key} must not be empty`)
}

function shortcut(fields: Fields): string | null {
  const value = code(fields, 'shortcut', MAX_LENGTH.shortcut)
  if (value === null) return null
  if (!SHORTCUT.test(value)) throw new BadRecord('shortcut must match [a-z0-9][a-z0-9.-]*')
  return value.toLowerCase()
}

function slug(fields: Fields): string {
  const value = requiredCode(fields, 'slug', MAX_LENGTH.slug)
  if (!SLUG.test(value)) throw new BadRecord('slug must match [a-z0-9]+(-[a-z0-9]+)*')
  return value
}

function oneOf(fields: Fields, key: string, values: readonly string[]): string {
  const value = fields[key]
  if (typeof value === 'string' && values.includes(value)) return value
  throw new BadRecord(`${key} must be one of ${values.join(', ')}`)
}

function region(fields: Fields): string {
  const value = fields.region
  if (typeof value === 'string' && /^[a-z]{1,5}$/.test(value)) return value
  throw new BadRecord('region must be a lowercase code of at most 5 letters')
}

function day(fields: Fields, key: string): string | null {
  const value = stringOrNull(fields, key)
  if (value === null) return null
  if (/^\d{4}-\d\d-\d\d$/.test(value) && !value.startsWith('0000')) {
    const start = new Date(`${value}T00:00:00Z`)
    // Date accepts February 30 as a day in March.
    if (!Number.isNaN(start.getTime()) && start.toISOString().startsWith(value)) return value
  }
  throw new BadRecord(`${key} must be a day as YYYY-MM-DD`)
}

function count(fields: Fields, key: string): number | null {
  const value = fields[key] ?? null
  if (value === null) return null
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_COUNT) {
    return value as number
  }
  throw new BadRecord(`${key} must be a whole number from 0 to ${MAX_COUNT}`)
}

/** Absent instead of null, because nearly every line lacks it and staging stores each. */
function visibility(fields: Fields): { visible?: boolean } {
  const value = fields.visible ?? null
  if (value === null) return {}
  if (typeof value === 'boolean') return { visible: value }
  throw new BadRecord('visible must be true or false')
}

function url(fields: Fields, key: string): string | null {
  const value = stringOrNull(fields, key)
  if (value === null) return null
  // URL.canParse ignores line breaks and outer spaces, and accepts any scheme.
  if (!/^https?:\/\/[^\s\p{Cc}]+$/iu.test(value) || !URL.canParse(value)) {
    throw new BadRecord(`${key} must be an http or https address`)
  }
  return limitLength(value, key, MAX_LENGTH.url)
}

function supertype(fields: Fields): string | null {
  const value = text(fields, 'supertype', MAX_LENGTH.word)
  return value === 'Pokémon' ? 'Pokemon' : value
}

/** A string as printed on the card. Some files contain a number. */
function hitPoints(fields: Fields): string | null {
  const value = fields.hp
  if (typeof value !== 'number') return text(fields, 'hp', MAX_LENGTH.word)
  if (Number.isSafeInteger(value) && value >= 0) return String(value)
  throw new BadRecord('hp must be a string or a whole number')
}

function types(fields: Fields): string[] | null {
  const values = fields.types ?? null
  if (values === null) return null
  const isText = (value: unknown) => typeof value === 'string' && value.trim() !== ''
  if (!Array.isArray(values) || !values.every(isText)) {
    throw new BadRecord('types must be a list of words')
  }
  if (values.length > MAX_TYPES) throw new BadRecord(`types must have at most ${MAX_TYPES} words`)
  if (values.length === 0) return null
  return values.map((value: string) =>
    normalText(storable(value, 'types'), 'a word in types', MAX_LENGTH.word),
  )
}
