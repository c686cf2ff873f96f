import { OAuthError } from '../../oauth/oauth-error.ts'

/** The parameters of a request (RFC 6749 §3.1): empty ones count as absent. */
export type Parameters = Record<string, string>

/** Parses a query or form. @throws OAuthError for a parameter that is given twice */
export function readParameters(text: string): Parameters {
  const parameters: Parameters = Object.create(null)
  for (const [name, value] of new URLSearchParams(text)) {
    if (value === '') continue
    if (name in parameters) {
      throw new OAuthError('invalid_request', `A parameter was sent twice: ${name.slice(0, 50)}.`)
    }
    parameters[name] = value
  }
  return parameters
}

/** The value of a parameter. @throws OAuthError if it is missing */
export function requireParameter(parameters: Parameters, name: string): string {
  const { [name]: value } = parameters
  if (value === undefined) throw new OAuthError('invalid_request', `${name} is missing.`)
  return value
}
