import { validationError } from '../errors.ts'

/** A parsed query string: the last value of each name, without empty values. */
export type Query = Record<string, string>

/** Objects without inherited names, which V8 reads faster than those of `Object.create(null)`. */
class ParsedQuery {}
Object.setPrototypeOf(ParsedQuery.prototype, null)
Reflect.deleteProperty(ParsedQuery.prototype, 'constructor')

const MALFORMED = Symbol('malformed percent-encoding')

/** Replaces invalid UTF-8. A lone surrogate is never part of valid text, so validation refuses it. */
const NOT_UTF8 = '\ud800'

/**
 * Parses a query string. The last value of a repeated name counts, `x[]` and `x[a]` are ordinary (unknown) names, and
 * `+` is a space. Never throws; see `isMalformed`.
 */
export function parseQuery(text: string): Query {
  const query = new ParsedQuery() as Query
  if (text === '') return query
  for (const part of text.split('&')) {
    const equals = part.indexOf('=')
    const name = decode(query, equals < 0 ? part : part.slice(0, equals))
    const value = equals < 0 ? '' : decode(query, part.slice(equals + 1))
    if (name === '') continue
    if (value === '') delete query[name]
    else query[name] = value
  }
  return query
}

/** Whether the query string has a `%` without two hexadecimal digits after it. */
export const isMalformed = (query: unknown): boolean => (query as Malformable)[MALFORMED] === true

type Malformable = { [MALFORMED]?: boolean }

function decode(query: Query, text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch {
    if (/%(?![0-9a-f]{2})/i.test(spaced)) (query as Malformable)[MALFORMED] = true
    return NOT_UTF8
  }
}

/**
 * The ids in a parameter that lists them, each once.
 *
 * @throws validation_error
 */
export function idList(field: string, text: string, max: number): number[] {
  const ids = [...new Set(text.split(',').map(Number))]
  if (ids.length <= max && ids.every((id) => Number.isSafeInteger(id) && id > 0)) return ids
  throw validationError({
    [field]: [`The ${field} field must be at most ${max} ids separated by commas.`],
  })
}
