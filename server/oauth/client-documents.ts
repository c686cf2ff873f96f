import type { Context } from '../context.ts'
import { guardedConnector } from '../outbound/guarded-connector.ts'
import type { Network } from '../outbound/network.ts'
import { webAddress } from '../outbound/public-address.ts'
import { readBody } from '../outbound/read-body.ts'
import { realTime } from '../time/real-time.ts'
import { type ClientMetadata, readMetadata } from './client-metadata.ts'
import { OAuthError } from './oauth-error.ts'

/** Client id metadata documents: a client's id is the address of the document that describes it. */

const MAX_LENGTH = 500
const MAX_BYTES = 64 * 1024
const TIMEOUT_MS = 5_000
const MIN_CACHE_S = 30
const MAX_CACHE_S = 24 * 60 * 60
const MAX_CACHED = 1_000

/** Reads the document of a client. Throws OAuthError. */
export type ClientDocuments = (clientId: string) => Promise<ClientMetadata>

type Cached = { metadata: Promise<ClientMetadata>; expiresAt: number }
type Fetched = { body: string; maxAge: number }

/** Whether a client's id has the form of a document's address: https with a path, in canonical notation. */
export function isDocumentAddress(clientId: string): boolean {
  if (clientId.length > MAX_LENGTH || !/^https:\/\/[!-~]+$/.test(clientId)) return false
  const url = webAddress(clientId)
  return (
    url?.href === clientId &&
    url.pathname !== '/' &&
    !url.username &&
    !url.password &&
    !clientId.includes('#')
  )
}

/**
 * Fetches documents from public addresses only, without redirects, and caches them as their headers say, for 30 s to 24
 * h; a failure for 30 s, so that sign-in requests can't make this service send as many of its own.
 */
export function clientDocuments(ctx: Context & { network: Network }): ClientDocuments {
  const cached = new Map<string, Cached>()
  return (clientId) => {
    const found = cached.get(clientId)
    if (found && found.expiresAt > realTime()) return found.metadata
    cached.delete(clientId)
    for (const oldest of cached.keys()) {
      if (cached.size < MAX_CACHED) break
      cached.delete(oldest)
    }
    const expiresIn = (seconds: number) => realTime() + seconds * 1000
    const entry: Cached = {
      expiresAt: expiresIn(MIN_CACHE_S),
      metadata: fetchDocument(ctx, clientId).then(({ body, maxAge }) => {
        const metadata = readDocument(clientId, body)
        entry.expiresAt = expiresIn(Math.min(Math.max(maxAge, MIN_CACHE_S), MAX_CACHE_S))
        return metadata
      }),
    }
    // The caller gets the error from `metadata`. Without this handler, an error that no caller awaits ends the process.
    entry.metadata.catch(() => {})
    cached.set(clientId, entry)
    return entry.metadata
  }
}

function readDocument(clientId: string, body: string): ClientMetadata {
  let document: unknown
  try {
    document = JSON.parse(body)
  } catch {
    throw invalid('The document of the program is not JSON.')
  }
  if (typeof document !== 'object' || document === null || Array.isArray(document)) {
    throw invalid('The document of the program is not a JSON object.')
  }
  const metadata = document as Record<string, unknown>
  if (metadata.client_id !== clientId) {
    throw invalid('The document of the program names another client_id.')
  }
  // The first one is the method that the program prefers. ChatGPT signs its requests where a server can check that.
  const { token_endpoint_auth_method: method, token_endpoint_auth_methods_supported: methods } =
    metadata
  if (![method ?? 'none', methods].flat().includes('none')) {
    throw invalid(
      'Only public clients are accepted: the document of the program must name none as an authentication method.',
    )
  }
  return readMetadata(metadata)
}

async function fetchDocument(
  { config, log, network }: Context & { network: Network },
  clientId: string,
): Promise<Fetched> {
  // Loaded on first use, because a start doesn't need it.
  const { Agent, request } = await import('undici')
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const agent = new Agent({
    connect: guardedConnector(network, {
      allowPrivate: config.webhookAllowPrivate,
      timeoutMs: TIMEOUT_MS,
      signal,
    }),
  })
  try {
    const { statusCode, headers, body } = await request(clientId, {
      dispatcher: agent,
      signal,
      headers: { accept: 'application/json', 'accept-encoding': 'identity' },
    })
    if (statusCode !== 200) {
      body.on('error', () => {}).destroy()
      throw invalid(`The document of the program was not found: status ${statusCode}.`)
    }
    return {
      body: (await readBody(body, MAX_BYTES, tooLarge)).toString('utf8'),
      maxAge: maxAgeOf(headers['cache-control']),
    }
  } catch (error) {
    if (error instanceof OAuthError) throw error
    log.info({ err: error }, 'cannot fetch the document of a client')
    throw invalid('The document of the program cannot be fetched. Try again later.')
  } finally {
    await agent.destroy()
  }
}

function maxAgeOf(cacheControl: string | string[] | undefined): number {
  const text = [cacheControl ?? ''].flat().join(',')
  if (/\bno-(store|cache)\b/i.test(text)) return 0
  return Number(/(?:^|[\s,])max-age=(\d{1,9})\b/i.exec(text)?.[1] ?? 0)
}

const invalid = (description: string) => new OAuthError('invalid_client', description)
const tooLarge = () => invalid('The document of the program is larger than 64 KiB.')
