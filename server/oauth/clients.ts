import type { Config } from '../config.ts'
import type { Context } from '../context.ts'
import { generateToken, looksLikeToken } from '../members/token.ts'
import { type ClientDocuments, isDocumentAddress } from './client-documents.ts'
import { readMetadata } from './client-metadata.ts'
import { OAuthError } from './oauth-error.ts'

/** A program that asks a member for access. All clients are public: they have no secret. */
export type Client = {
  id: string
  name: string
  redirectUris: string[]
  /** The host of its metadata document; null for a registered client. */
  documentHost: string | null
}

/** The sellers' command line. It signs in as a device only. */
export const COMMAND_LINE = { id: 'cardstall-cli', name: 'Cardstall command line' } as const

/** A registered client that no member has used is deleted after this time. */
const UNUSED_HOURS = 24

/**
 * The client of an authorization request.
 *
 * @throws OAuthError for an unknown client, and for one that OAUTH_CLIENTS excludes
 */
export async function findClient(
  ctx: Context,
  documents: ClientDocuments,
  clientId: string,
): Promise<Client> {
  if (isDocumentAddress(clientId)) {
    const { host, hostname } = new URL(clientId)
    if (!acceptsDocumentsOf(ctx.config, host)) throw excluded()
    const { name, redirectUris } = await documents(clientId)
    return { id: clientId, name: name ?? hostname, redirectUris, documentHost: host }
  }
  if (!offersRegistration(ctx.config)) throw excluded()
  const [client] = looksLikeToken(clientId)
    ? await ctx.db<Omit<Client, 'documentHost'>[]>`
        select id, name, redirect_uris as "redirectUris" from oauth_clients where id = ${clientId}
      `
    : []
  if (!client) throw unknownClient()
  return { ...client, documentHost: null }
}

/** Whether a client can have grants: it is registered, or needs no registration. */
export async function isKnownClient({ db }: Context, clientId: string): Promise<boolean> {
  if (clientId === COMMAND_LINE.id || isDocumentAddress(clientId)) return true
  if (!looksLikeToken(clientId)) return false
  const [known] = await db`select from oauth_clients where id = ${clientId}`
  return known !== undefined
}

/**
 * Registers a client. It is deleted if no member uses it within a day.
 *
 * @throws OAuthError for unsuitable metadata
 */
export async function registerClient(
  { db }: Context,
  metadata: Record<string, unknown>,
): Promise<Client> {
  const { name = 'A program without a name', redirectUris } = readMetadata(metadata)
  const id = generateToken()
  await db`
    insert into oauth_clients (id, name, redirect_uris, keep_until)
    values (
      ${id},
      ${name},
      ${redirectUris}::text[],
      clock_timestamp() + make_interval(hours => ${UNUSED_HOURS})
    )
  `
  return { id, name, redirectUris, documentHost: null }
}

/** Whether programs may register themselves (OAUTH_CLIENTS). */
export const offersRegistration = ({ oauthClients }: Pick<Config, 'oauthClients'>) =>
  oauthClients === 'any'

const acceptsDocumentsOf = ({ oauthClients }: Config, host: string) =>
  typeof oauthClients === 'string' || oauthClients.includes(host)

/** The error for a client id that is neither registered nor the address of a document. */
export const unknownClient = () =>
  new OAuthError('invalid_client', 'The program is not registered here.')

const excluded = () =>
  new OAuthError('invalid_client', 'This marketplace does not accept this program.')
