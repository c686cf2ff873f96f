import type { Config } from '../config.ts'
import { SCOPES, type Scope } from '../keys/scopes.ts'
import { OAuthError } from './oauth-error.ts'

/** An address that accepts tokens, and the scopes that it knows. */
export type Resource = { audience: string; scopes: readonly Scope[] }

/** Accepted for clients that ask for it; it has no effect, because every program gets a refresh token. */
export const OFFLINE_ACCESS = 'offline_access'

/** The tool servers, by their path. */
export const TOOL_SERVERS = {
  '/mcp': { name: 'Cardstall catalog', scopes: ['catalog:read'] },
  '/mcp/seller': { name: 'Cardstall for sellers', scopes: SCOPES },
} as const satisfies Record<string, { name: string; scopes: readonly Scope[] }>

/** The address of the command line's tokens, which `POST /tools/v1/key` accepts. */
export const toolsAudience = ({ publicUrl }: Pick<Config, 'publicUrl'>) => `${publicUrl}/tools`

/**
 * The tool server that a client names. Clients of MCP's first revision name none (RFC 8707 allows a default): they mean
 * the seller's, if it is the only one that needs a sign-in.
 *
 * @throws OAuthError for an unknown resource, and for none if both servers need a sign-in
 */
export function requireToolServer(
  { publicUrl, mcpPublicRate }: Pick<Config, 'publicUrl' | 'mcpPublicRate'>,
  named: string | undefined,
): Resource {
  const resource = named ?? (mcpPublicRate > 0 ? `${publicUrl}/mcp/seller` : undefined)
  for (const [path, { scopes }] of Object.entries(TOOL_SERVERS)) {
    const audience = publicUrl + path
    if (resource === audience) return { audience, scopes }
  }
  const audiences = Object.keys(TOOL_SERVERS).map((path) => publicUrl + path)
  throw new OAuthError('invalid_target', `The resource must be ${audiences.join(' or ')}.`)
}

/**
 * The requested scopes, in their published order; without a request all scopes of the resource.
 *
 * @throws OAuthError for a scope that the resource doesn't know
 */
export function requireScopes({ scopes }: Resource, requested: string | undefined): Scope[] {
  const names = (requested ?? '').split(' ').filter((name) => name && name !== OFFLINE_ACCESS)
  if (names.length === 0) return [...scopes]
  if (!names.every((name) => scopes.some((scope) => scope === name))) {
    throw new OAuthError('invalid_scope', `The scopes of this resource are ${scopes.join(', ')}.`)
  }
  return scopes.filter((scope) => names.includes(scope))
}
