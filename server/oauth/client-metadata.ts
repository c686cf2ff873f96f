import { OAuthError } from './oauth-error.ts'
import { isRedirectUri } from './redirect-uri.ts'

/** Facts that a client states about itself, in a registration (RFC 7591) or in its metadata document. */
export type ClientMetadata = { name: string | undefined; redirectUris: string[] }

const MAX_NAME = 100
const MAX_REDIRECT_URIS = 10

/**
 * Reads a client's metadata. `scope` and `application_type` are ignored: consent decides about scopes, and the address
 * itself tells whether a program runs on a computer. Redirect URIs that can't be used are ignored if there are others: a
 * program may list those of all its versions.
 *
 * @throws OAuthError for a client with a secret, and without a redirect URI that can be used
 */
export function readMetadata(metadata: Record<string, unknown>): ClientMetadata {
  if ('client_secret' in metadata) {
    throw invalid('Only public clients are accepted: they have no client_secret.')
  }
  requireListed(metadata, 'grant_types', 'authorization_code')
  requireListed(metadata, 'response_types', 'code')
  return { name: readName(metadata.client_name), redirectUris: readUris(metadata) }
}

function readUris({ redirect_uris: uris }: Record<string, unknown>): string[] {
  if (!Array.isArray(uris) || !uris.every((uri) => typeof uri === 'string')) {
    throw new OAuthError('invalid_redirect_uri', 'redirect_uris must be a list of addresses.')
  }
  const usable = [...new Set(uris.filter(isRedirectUri))]
  if (usable.length === 0) {
    throw new OAuthError(
      'invalid_redirect_uri',
      'redirect_uris must be https, http on localhost, 127.0.0.1 or [::1], or a private scheme with a dot; without fragment and user.',
    )
  }
  if (usable.length > MAX_REDIRECT_URIS) {
    throw new OAuthError(
      'invalid_redirect_uri',
      `At most ${MAX_REDIRECT_URIS} redirect_uris are possible.`,
    )
  }
  return usable
}

function requireListed(metadata: Record<string, unknown>, field: string, needed: string): void {
  const { [field]: list = [needed] } = metadata
  if (Array.isArray(list) && list.includes(needed)) return
  throw invalid(`${field} must contain ${needed}.`)
}

/** Characters that hide or reorder the text around them, or can't be seen themselves. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu

/**
 * More marks above or below one letter than a script needs: they are drawn over the text around the name. Marks beside it
 * (`Mc`) take space of their own, and a Burmese syllable has five.
 */
const STACKED = /([\p{Mn}\p{Me}]{3})[\p{Mn}\p{Me}]+/gu

/** The name as the pages show it; undefined if it has nothing to see. */
function readName(name: unknown): string | undefined {
  if (name === undefined) return undefined
  if (typeof name !== 'string' || [...name].length > MAX_NAME) {
    throw invalid(`client_name must be a text of at most ${MAX_NAME} characters.`)
  }
  const shown = name.replace(HIDDEN, '').replace(STACKED, '$1').trim()
  return /[^\p{M}\p{Z}]/u.test(shown) ? shown : undefined
}

const invalid = (description: string) => new OAuthError('invalid_client_metadata', description)
