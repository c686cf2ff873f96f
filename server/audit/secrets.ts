/**
 * Names of fields that the log omits: secrets, and buyers' data and texts, because entries can't be erased later. A
 * tracking URL can contain the recipient's postal code, and some shops use the id of the buyer as that of the cart.
 */
const SECRET =
  /\.(password|.*_password|key|secret|.*_secret|token|.*_token|iban|authorization|label_url|tracking_url|payload|buyer|cart_id|text|message)$|^tracking\.url$/

/**
 * The user and password of a URL, such as that of a webhook endpoint, up to the last @ before its path. A URL that is the
 * whole text may lack its slashes and have backslashes and spaces, like the URLs that are accepted.
 */
const CREDENTIALS = /(^\s*https?:[/\\]*)[^/\\?#]*@|(\/\/)[^/\\?#\s]*@/gi

export const withoutCredentials = (text: string): string => text.replaceAll(CREDENTIALS, '$1$2')

/** PostgreSQL's jsonb can hold neither a NUL nor half of a surrogate pair. */
const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '')

/** A copy of a state without its secrets: passwords, keys, tokens, bank accounts, signed links. */
export function withoutSecrets(value: unknown, parent = ''): unknown {
  if (typeof value === 'string') return withoutCredentials(storable(value))
  if (Array.isArray(value)) return value.map((inner) => withoutSecrets(inner, parent))
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !SECRET.test(`${parent}.${name}`))
      .map(([name, inner]) => [storable(name), withoutSecrets(inner, name)]),
  )
}
