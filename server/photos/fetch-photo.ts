import { Agent, type Dispatcher, request } from 'undici'
import { reasonFor } from '../outbound/failure-reason.ts'
import { guardedConnector, PrivateAddressError } from '../outbound/guarded-connector.ts'
import type { Network } from '../outbound/network.ts'
import { webAddress } from '../outbound/public-address.ts'
import { PhotoError } from './photo.ts'

const MAX_BYTES = 10 * 1024 * 1024
const MAX_REDIRECTS = 3
const TIMEOUT_MS = 20_000
const CONNECT_TIMEOUT_MS = 10_000

type Options = {
  network: Network
  /** WEBHOOK_ALLOW_PRIVATE */
  allowPrivate: boolean
  userAgent: string
  /** Ends the fetch early; it then throws the signal's reason. */
  signal: AbortSignal
  /** For the whole of it, redirects included, however slowly it trickles in. */
  timeoutMs?: number
}

/**
 * Fetches what is at this address: at most 10 MB within 20 seconds, from public addresses only (§4.9), over at most
 * three redirects, each checked as the first address was. Sends no cookies or credentials, not even those of the URL.
 *
 * @throws PhotoError when it can't be had; a final one where another try would end the same
 */
export async function fetchPhoto(url: string, options: Options): Promise<Buffer> {
  const { network, allowPrivate, signal, timeoutMs = TIMEOUT_MS } = options
  const timeout = AbortSignal.timeout(timeoutMs)
  const ended = AbortSignal.any([signal, timeout])
  const agent = new Agent({
    connect: guardedConnector(network, {
      allowPrivate,
      timeoutMs: CONNECT_TIMEOUT_MS,
      signal: ended,
    }),
  })
  try {
    return await bytesOf(await follow(url, { agent, userAgent: options.userAgent, signal: ended }))
  } catch (error) {
    signal.throwIfAborted()
    if (timeout.aborted)
      throw retryable(`The picture did not arrive within ${timeoutMs / 1000} seconds.`)
    throw error instanceof PhotoError ? error : unreachable(error as NodeJS.ErrnoException)
  } finally {
    await agent.destroy()
  }
}

type Fetching = { agent: Agent; userAgent: string; signal: AbortSignal }

async function follow(first: string, fetching: Fetching): Promise<Dispatcher.ResponseData> {
  let url = webAddress(first)
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    if (!url) throw final('The address is not an http or https URL.')
    const response = await request(url, {
      dispatcher: fetching.agent,
      signal: fetching.signal,
      headers: {
        accept: 'image/*,*/*;q=0.5',
        'accept-encoding': 'identity',
        'user-agent': fetching.userAgent,
      },
    })
    const { statusCode, headers } = response
    if (statusCode >= 200 && statusCode < 300) return response
    response.body.on('error', () => {}).destroy()
    if (!isRedirect(statusCode, headers.location)) {
      throw retryable(`The server answered with status ${statusCode}.`)
    }
    url = webAddress(URL.parse(String(headers.location), url)?.href ?? '')
  }
  throw final(`It is redirected more than ${MAX_REDIRECTS} times.`)
}

const isRedirect = (status: number, location: unknown) =>
  [301, 302, 303, 307, 308].includes(status) && location !== undefined

async function bytesOf({ headers, body }: Dispatcher.ResponseData): Promise<Buffer> {
  if (Number(headers['content-length']) > MAX_BYTES) {
    body.on('error', () => {}).destroy()
    throw tooLarge()
  }
  const chunks: Buffer[] = []
  let length = 0
  // Leaving the loop closes the connection: what a server sends beyond the limit is never read.
  for await (const chunk of body) {
    length += chunk.length
    if (length > MAX_BYTES) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const final = (message: string, cause?: unknown) => new PhotoError(message, { final: true, cause })
const retryable = (message: string, cause?: unknown) =>
  new PhotoError(message, { final: false, cause })
const tooLarge = () => final('The file is larger than 10 MB.')

function unreachable(error: NodeJS.ErrnoException): PhotoError {
  if (error instanceof PrivateAddressError) return final(error.message, error)
  return retryable(reasonFor(error), error)
}
