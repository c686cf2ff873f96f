import {
  Cardstall,
  CardstallError,
  type ClientOptions,
  ConnectionError,
  RateLimitError,
  type RequestEvent,
} from '@cardstall/sdk'
import type { Command } from 'commander'
import { mayRetry } from '../../sdk/src/transport.ts'
import { type Output, type OutputOptions, openOutput } from './output.ts'
import { chosenProfile, type Profile } from './profiles.ts'

export const EXIT = { refused: 1, usage: 2, notSignedIn: 3, interrupted: 130 } as const

/** Ends the command with a message of one sentence. */
export class CommandError extends Error {
  override name = 'CommandError'
  readonly exitCode: number

  constructor(message: string, exitCode: number = EXIT.refused) {
    super(message)
    this.exitCode = exitCode
  }
}

/** No response has arrived to a write that may have taken effect, and whose repetition could have another effect. */
export class UnknownOutcomeError extends ConnectionError {
  override name = 'UnknownOutcomeError'
}

/** @throws UnknownOutcomeError instead of another error, if the service may have made the write */
export async function unrepeatable<T>(write: Promise<T>): Promise<T> {
  return write.catch((error) => {
    if (!isUnknown(error)) throw error
    throw new UnknownOutcomeError(error.message, { cause: error })
  })
}

/** A 5xx without a type is that of a proxy, which may have passed the request on. */
const isUnknown = (error: unknown) =>
  error instanceof ConnectionError
    ? !mayRetry(error, 'unsent')
    : error instanceof CardstallError && error.type === undefined && error.status! >= 500

/** The id of the request that was refused, which the operator finds in the log. */
export function requestOf(error: unknown): string {
  const { requestId } = error as { requestId?: string }
  return requestId === undefined ? '' : ` (request ${requestId})`
}

export type GlobalOptions = OutputOptions & { url?: string; key?: string; profile?: string }

export type Session = { client: Cardstall; out: Output; profile: Profile }

export const optionsOf = (command: Command) => command.optsWithGlobals<GlobalOptions>()

/** @throws CommandError (exit code 2) if JSON is wanted of a command that prints CSV */
export function refuseJson(command: Command, advice: string): void {
  const { json, ndjson } = optionsOf(command)
  if (json || ndjson) throw new CommandError(`The output is CSV, not JSON: ${advice}.`, EXIT.usage)
}

/** @throws CommandError (exit code 3) without a key and an address */
export async function openSession(
  command: Command,
  onAttempt: (event: RequestEvent, out: Output) => void = () => {},
): Promise<Session> {
  const options = optionsOf(command)
  const { name, stored, environment } = isComplete(options)
    ? { name: '', stored: undefined, environment: process.env }
    : await chosenProfile(options.profile)
  if (options.profile !== undefined && !stored) {
    throw new CommandError(
      `There is no profile "${options.profile}": run "cardstall login --profile ${options.profile}".`,
      EXIT.notSignedIn,
    )
  }
  const givenKey = options.key ?? (environment.CARDSTALL_KEY || undefined)
  const key = givenKey ?? stored?.key
  const url = options.url ?? (environment.CARDSTALL_URL || stored?.url)
  if (!key || !url) {
    throw new CommandError(
      'You are not signed in: run "cardstall login", or set CARDSTALL_KEY and CARDSTALL_URL.',
      EXIT.notSignedIn,
    )
  }
  // The secret of one marketplace must not reach another.
  if (givenKey === undefined && stored && apiUrl(url) !== apiUrl(stored.url)) {
    throw new CommandError(
      `The profile "${name}" is for ${stored.url}, not ${url}: add --key, or run "cardstall login --url ${url} --profile NAME".`,
      EXIT.notSignedIn,
    )
  }
  const out = openOutput(options)
  const client = clientOf({ key, url }, (event) => {
    onAttempt(event, out)
    const { error } = event
    if (!(error instanceof RateLimitError)) return
    out.progress(`Waiting ${error.retryAfter ?? 1} s for the limit of the key`)
  })
  return { client, out, profile: { key, url: apiUrl(url) } }
}

/** The file of the profiles is not read then: a script must not depend on that of a person. */
function isComplete({ profile, url, key }: GlobalOptions): boolean {
  const { CARDSTALL_URL, CARDSTALL_KEY } = process.env
  return profile === undefined && Boolean(url ?? CARDSTALL_URL) && Boolean(key ?? CARDSTALL_KEY)
}

/** @throws CommandError (exit code 2) for an address that is none */
export function clientOf(
  { key, url }: Profile,
  onRequest: ClientOptions['onRequest'] = () => {},
): Cardstall {
  try {
    return new Cardstall({ key, baseUrl: apiUrl(url), onRequest })
  } catch (error) {
    const { message } = error as Error
    throw new CommandError(
      message.includes('`key`')
        ? 'The API key has a space or a special character: check --key and CARDSTALL_KEY.'
        : `"${url}" is not the address of a marketplace: it must begin with https:// or http://.`,
      EXIT.usage,
    )
  }
}

/** The address of the seller API in one spelling, because it finds journals and positions. People often leave `/v1` out. */
export const apiUrl = (url: string) => url.replace(/\/*$/, '').replace(/(\/v1)?$/, '/v1')
