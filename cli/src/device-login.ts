import { hostname } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { openInBrowser } from './browser.ts'
import { apiUrl, CommandError, EXIT } from './session.ts'

const CLIENT_ID = 'cardstall-cli'
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code'
const TIMEOUT_MS = 30_000
/** RFC 8628 §3.5 */
const SLOWER_S = 5

type Device = {
  device_code: string
  user_code: string
  verification_uri: string
  verification_uri_complete: string
  expires_in: number
  interval: number
}
type Answer = { error?: string; error_description?: string; access_token?: string; scope?: string }

/**
 * Gets an API key for this computer: shows a code, and waits until somebody allows it in a browser (RFC 8628).
 *
 * @throws CommandError if it is refused, or the code expires
 */
export async function deviceLogin(
  url: string,
  {
    scopes,
    opensBrowser,
    show,
  }: { scopes: string | undefined; opensBrowser: boolean; show: (text: string) => void },
): Promise<string> {
  const root = apiUrl(url).replace(/\/v1$/, '')
  if (!/^https?:$/.test(URL.parse(root)?.protocol ?? '')) {
    throw new CommandError(
      `"${url}" is not the address of a marketplace: it must begin with https:// or http://.`,
      EXIT.usage,
    )
  }
  const device = await send<Device & Answer>(`${root}/oauth/device`, {
    client_id: CLIENT_ID,
    ...(scopes === undefined ? {} : { scope: scopes.replaceAll(',', ' ') }),
  })
  if (device.error !== undefined) throw refused(device)
  show(`Open ${device.verification_uri} and enter the code ${device.user_code}`)
  if (opensBrowser) openInBrowser(device.verification_uri_complete)
  const { access_token: token, scope = '' } = await poll(root, device)
  const created = await send<{ key?: string; error?: { message: string } }>(
    `${root}/tools/v1/key`,
    { name: `CLI on ${hostname()}`.slice(0, 100), scopes: scope.split(' ') },
    token,
  )
  if (created.key === undefined) {
    throw new CommandError(created.error?.message ?? 'No key was created.')
  }
  return created.key
}

async function poll(root: string, { device_code, interval, expires_in }: Device): Promise<Answer> {
  const end = performance.now() + expires_in * 1000
  for (let seconds = interval; performance.now() < end; ) {
    await wait(seconds * 1000)
    const fields = { grant_type: GRANT_TYPE, client_id: CLIENT_ID, device_code }
    const answer = await send<Answer>(`${root}/oauth/token`, fields).catch((error) => {
      // The code stays valid while the service or the network is away for a moment.
      if (error instanceof Unavailable) return { error: 'slow_down' }
      throw error
    })
    if (answer.error === undefined) return answer
    // The second one is the limit of the address, which a network may share.
    if (answer.error === 'slow_down' || answer.error === 'temporarily_unavailable') {
      seconds += SLOWER_S
    } else if (answer.error !== 'authorization_pending') {
      throw refused(answer)
    }
  }
  throw new CommandError('The code has expired. Run "cardstall login" again.')
}

class Unavailable extends CommandError {}

const refused = ({ error_description: description }: Answer) =>
  new CommandError(description ?? 'The login was refused: run "cardstall login" again.')

/** Sends a form, or JSON with a token. */
async function send<T>(url: string, body: Record<string, unknown>, token?: string): Promise<T> {
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(token === undefined
      ? { body: new URLSearchParams(body as Record<string, string>) }
      : {
          body: JSON.stringify(body),
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        }),
  }).catch((error: Error) => {
    const { cause } = error as { cause?: { code?: string; message?: string } }
    const reason = cause?.code ?? cause?.message ?? error.message
    throw new Unavailable(
      `${new URL(url).host} cannot be reached (${reason}): check the address and your network.`,
    )
  })
  if (response.status === 404) {
    throw new CommandError(
      'There is no sign-in for programs at this address. Use a key: cardstall login --with-key',
    )
  }
  const answer = (await response.json().catch(() => undefined)) as T | undefined
  if (answer !== undefined && response.status < 500) return answer
  throw new Unavailable(
    `${new URL(url).host} responded with status ${response.status}: it is not a marketplace, or it is down. Check the address, or try again later.`,
  )
}
