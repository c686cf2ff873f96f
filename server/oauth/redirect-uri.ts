/** Rules for the addresses that a browser goes back to with a code. A mistake here hands codes to strangers. */

const MAX_LENGTH = 1_000
/** Printable ASCII without characters that parsers of addresses treat differently. */
const PLAIN = /^[!$%&'()*+,\-./0-9:;=?@A-Z[\]_a-z~]+$/
/** http on this computer, in canonical notation, split before and after the port. */
const LOOPBACK = /^(http:\/\/(?:localhost|127\.0\.0\.1|\[::1\]))(?::\d{1,5})?((?:[/?].*)?)$/
const HTTPS = /^https:\/\/[^/?@]+([/?]|$)/
/** A private scheme names a domain backwards (RFC 8252 §7.1), so it contains a dot, unlike `javascript`. */
const PRIVATE_SCHEME = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:/

/** Whether clients may register the address: https, http on this computer, or a private scheme. No fragment, no user. */
export function isRedirectUri(text: string): boolean {
  if (text.length > MAX_LENGTH || !PLAIN.test(text)) return false
  const url = URL.parse(text)
  if (!url || url.username || url.password) return false
  if (url.protocol === 'https:') return HTTPS.test(text)
  return LOOPBACK.test(text) || PRIVATE_SCHEME.test(text)
}

/** Whether the code stays on the computer of the browser. Any program there can open a port or claim a private scheme. */
export const isLocal = (uri: string) => !uri.startsWith('https:')

/** Whether a requested address is a registered one. Programs on a computer can't choose their port in advance. */
export function isRegistered(registered: readonly string[], requested: string): boolean {
  if (!isRedirectUri(requested)) return false
  return registered.some((uri) => withoutPort(uri) === withoutPort(requested))
}

const withoutPort = (uri: string) => {
  const [, lead, rest] = LOOPBACK.exec(uri) ?? []
  return lead === undefined ? uri : lead + rest
}

/** The host of an address, or its private scheme: the part by which a person recognises the program. */
export function hostOf(uri: string): string {
  const url = new URL(uri)
  return /^https?:$/.test(url.protocol) ? url.hostname : url.protocol
}

/** Adds parameters to the query of an address. */
export function withParameters(
  uri: string,
  parameters: Record<string, string | undefined>,
): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => {
    return entry[1] !== undefined
  })
  return `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams(given)}`
}
