import { existsSync } from 'node:fs'
import type { Config } from '../config.ts'
import { WEBHOOK_EVENTS, type WebhookEvent } from '../enums.ts'
import { reasonFor } from '../outbound/failure-reason.ts'
import { getOrCreateSecret, readSecret } from '../sandbox/own-secrets.ts'
import { type Options, parseParameters } from '../settings/parameters.ts'
import { StartError } from '../start-error.ts'
import { isLoopback } from '../text/loopback.ts'
import { generateSecret } from '../webhooks/secret.ts'

/** The event stream to read, and the use of its events. */
export type Listening = {
  /** URL of the service, without a trailing slash. */
  url: string
  token: string
  accountId: number
  events: readonly WebhookEvent[]
  /** Receiver of the events and its signing secret; undefined if they are only printed. */
  forward: { url: URL; secret: string } | undefined
}

export const LISTEN_OPTIONS = {
  forward: { value: 'URL', description: 'Receiver to which each event is posted, signed' },
  account: { value: 'ID', description: 'Account of the seller. Default: the demo seller' },
  events: { value: 'a,b', description: 'Only these events' },
  url: {
    value: 'URL',
    description: 'URL of the service. Default: PUBLIC_URL, or PORT on this machine',
  },
  token: { value: 'TOKEN', description: 'Operator token. Default: OPERATOR_TOKEN, or DATA_DIR’s' },
} satisfies Options
type Given = Partial<Record<keyof typeof LISTEN_OPTIONS, string>>

const TIMEOUT_MS = 10_000

/**
 * Reads the command's options. Missing ones are taken from the settings and from DATA_DIR of this machine's sandbox. Only
 * the signing secret is generated if it is missing.
 *
 * @throws StartError that names the option to use
 */
export async function readOptions(config: Config, parameters: string[]): Promise<Listening> {
  const given = parseParameters(parameters, LISTEN_OPTIONS).values as Given
  const forward = given.forward === undefined ? undefined : addressIn('forward', given.forward)
  const events = given.events === undefined ? WEBHOOK_EVENTS : eventsIn(given.events)
  const accountId = given.account === undefined ? undefined : accountIn(given.account)
  const service = serviceOf(config, given)
  const token = await tokenFor(config, given, service)
  return {
    url: service.url,
    token,
    accountId: accountId ?? (await demoAccount(config, service)),
    events,
    forward: forward && { url: forward, secret: await signingSecret(config) },
  }
}

function addressIn(option: 'forward' | 'url', text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !['http:', 'https:'].includes(url.protocol)) {
    throw new StartError(
      `--${option} must be an address that begins with http:// or https://, not "${text}".`,
    )
  }
  return url
}

function eventsIn(text: string): WebhookEvent[] {
  return text.split(',').map((part) => {
    const event = WEBHOOK_EVENTS.find((known) => known === part.trim())
    if (!event) {
      throw new StartError(
        `--events must be some of ${WEBHOOK_EVENTS.join(',')}; "${part.trim()}" is none.`,
      )
    }
    return event
  })
}

function accountIn(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) {
    throw new StartError(`--account must be an account's number, not "${text}".`)
  }
  return Number(text)
}

/** Secrets of DATA_DIR belong to this machine's service (`isOurs`), and are never sent to another one. */
type Service = { url: string; isOurs: boolean }

function serviceOf({ publicUrl }: Config, { url: text }: Given): Service {
  if (text === undefined) return { url: publicUrl, isOurs: true }
  const url = addressIn('url', text)
  if (url.search || url.hash || url.username || url.password) {
    throw new StartError('--url must be a plain address: no query, fragment or user.')
  }
  return { url: url.origin + url.pathname.replace(/\/+$/, ''), isOurs: isLoopback(url.hostname) }
}

async function tokenFor(config: Config, { token }: Given, service: Service): Promise<string> {
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw new StartError('--token must be printable ASCII characters without spaces.')
  }
  const known = token ?? config.operatorToken ?? (await kept(config, service, 'operator-token'))
  if (known) return known
  throw new StartError(
    `The operator token of ${service.url} is not in ${service.isOurs ? config.dataDir : 'the settings'}: give it with --token or OPERATOR_TOKEN.`,
  )
}

/** The account of the demo key. */
async function demoAccount(config: Config, service: Service): Promise<number> {
  const key = await kept(config, service, 'demo-key')
  if (!key) {
    throw new StartError(
      `Choose the account with --account: there is no demo key for ${service.url} in ${config.dataDir}.`,
    )
  }
  const response = await fetch(`${service.url}/v1/me`, {
    headers: { authorization: `Bearer ${key}` },
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((error) => {
    throw notThere(service.url, error)
  })
  const id = await response.json().then(
    (body) => (body as { data?: { id: number } }).data?.id,
    () => undefined,
  )
  if (id !== undefined) return id
  if (response.status >= 500) {
    throw new StartError(
      `${service.url} responded with status ${response.status}: it is starting, or its database is unavailable. Try again in a moment.`,
    )
  }
  throw new StartError(
    `Choose the account with --account: ${service.url} does not accept the demo key in DATA_DIR (it responded with status ${response.status}).`,
  )
}

const kept = ({ dataDir }: Config, { isOurs }: Service, name: 'operator-token' | 'demo-key') =>
  isOurs ? readSecret(dataDir, name) : undefined

/** Stored in DATA_DIR, so that a receiver is configured only once; without DATA_DIR it is for this run only. */
const signingSecret = async ({ dataDir }: Config): Promise<string> =>
  existsSync(dataDir)
    ? getOrCreateSecret(dataDir, 'listen-secret', { generate: generateSecret })
    : generateSecret()

/** The error for a service that does not respond. */
export const notThere = (url: string, error: Error) =>
  new StartError(
    `${url} can't be reached: ${reasonFor((error.cause ?? error) as Error)} Start the service, or set its address with --url.`,
  )
