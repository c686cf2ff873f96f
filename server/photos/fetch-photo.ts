import { Agent, type Dispatcher, request } from 'undici'
import { reasonFor } from '../outbound/failure-reason.ts'
import { guardedConnector, PrivateAddressError } from '../outbound/guarded-connector.ts'
import type { Network } from '../outbound/network.ts'
import { webAddress } from '../outbound/public-address.ts'
import { readBody } from '../outbound/read-body.ts'
import { PhotoError } from './photo.ts'

const MAX_BYTES = 10 * 1024 * 1024
const MAX_REDIRECTS = 3
const TIMEOUT_MS = 20_000
const CONNECT_TIMEOUT_MS = 10_000

type Options = {
  network: Network
  /** Whether private addresses are allowed (WEBHOOK_ALLOW_PRIVATE). */
  allowPrivate: boolean
  userAgent: string
  /** Aborts the fetch, which then throws the signal's reason. */
  signal: AbortSignal
  /** Limits the whole fetch, including redirects. */
  timeoutMs?: number
}

/**
 * Fetches a file of at most 10 MB within 20 seconds, from public addresses only (§4.9). Follows up to three redirects,
 * with the same checks for each. Sends no cookies and no credentials, not even those in the URL.
 *
 * @throws PhotoError
 */
export async function fetchPhoto(url: string, options: Options): Promise<Buffer> {
  const { network, allowPrivate, signal, timeoutMs = TIMEOUT_MS } = options
  const timeout = AbortSignal.timeout(timeoutMs)
  const aborted = AbortSignal.any([signal, timeout])
  const agent = new Agent({
    connect: guardedConnector(network, {
      allowPrivate,
      timeoutMs: CONNECT_TIMEOUT_MS,
      signal: aborted,
    }),
  })
  try {
    return await readPhoto(
      await followRedirects(url, { agent, userAgent: options.userAgent, signal: aborted }),
    )
  } catch (error) {
    signal.throwIfAborted()
    if (timeout.aborted)
      throw temporary(`The picture did not arrive within ${timeoutMs / 1000} seconds.`)
    throw error instanceof PhotoError ? error : connectionFailure(error as NodeJS.ErrnoException)
  } finally {
    await agent.destroy()
  }
}

type Fetching = { agent: Agent; userAgent: string; signal: AbortSignal }

async function followRedirects(
  first: string,
  fetching: Fetching,
): Promise<Dispatcher.ResponseData> {
  let url = webAddress(first)
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    if (!url) throw permanent('The address is not an http or https URL.')
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
      throw temporary(`The server responded with status ${statusCode}.`)
    }
    url = webAddress(URL.parse(String(headers.location), url)?.href ?? '')
  }
  throw permanent(`The server redirected more than ${MAX_REDIRECTS} times.`)
}

const isRedirect = (status: number, location: unknown) =>
  [301, 302, 303, 307, 308].includes(status) && location !== undefined

async function readPhoto({ headers, body }: Dispatcher.ResponseData): Promise<Buffer> {
  if (Number(headers['content-length']) > MAX_BYTES) {
    body.on('error', () => {}).destroy()
    throw tooLarge()
  }
  return readBody(body, MAX_BYTES, tooLarge)
}

const permanent = (message: string, cause?: unknown) =>
  new PhotoError(message, { isPermanent: true, cause })
const temporary = (message: string, cause?: unknown) =>
  new PhotoError(message, { isPermanent: false, cause })
const tooLarge = () => permanent('The file is larger than 10 MB.')

function connectionFailure(error: NodeJS.ErrnoException): PhotoError {
  if (error instanceof PrivateAddressError) return permanent(error.message, error)
  return temporary(reasonFor(error), error)
}
