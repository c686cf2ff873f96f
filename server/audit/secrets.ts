/** Names of fields that the log omits: secrets, and buyers' data and texts, because entries can't be erased later. */
const SECRET =
  /^(password|.*_password|key|secret|.*_secret|token|.*_token|iban|authorization|label_url|payload|buyer|text|message)$/

/** The user and password in a URL, such as that of a webhook endpoint. */
const CREDENTIALS = /(\/\/)[^/?#@\s]*@/g

/** A copy of a state without its secrets: passwords, keys, tokens, bank accounts, signed links. */
export function withoutSecrets(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed().replaceAll(CREDENTIALS, '$1')
  if (Array.isArray(value)) return value.map(withoutSecrets)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !SECRET.test(name))
      .map(([name, inner]) => [name, withoutSecrets(inner)]),
  )
}
