import { createHash } from 'node:crypto'
import { sign, ValidationError, type WebhookEvent } from '@cardstall/sdk'
import type { Command } from 'commander'
import { beforeInterruption } from '../interruption.ts'
import { openPosition } from '../positions.ts'
import { CommandError, EXIT, openSession } from '../session.ts'
import { EVENTS } from '../webhook-events.ts'

const TIMEOUT_MS = 10_000

type ListenOptions = { forward?: string; events?: string; after?: string }

/** `webhooks listen`. */
export function listenCommand(webhooks: Command): void {
  webhooks
    .command('listen')
    .description(
      'print your events, resends included, until Ctrl-C; the next run continues where this one ends',
    )
    .option('--forward <url>', 'post each event to this address, signed like a delivery')
    .option('--events <names>', 'only these events, separated by commas')
    .option('--after <position>', 'continue after this position instead; "now" skips what happened')
    .action(async (options: ListenOptions, command: Command) => {
      const target = options.forward === undefined ? undefined : addressOf(options.forward)
      const wanted = eventsIn(options.events)
      const session = await openSession(command)
      const { client, out, profile } = session
      const saved = await openPosition(session, 'events', [target, wanted], () =>
        out.warn('The service cannot be reached. Trying again.'),
      )
      const secret = secretOf(profile.key)
      // Not a note: a receiver needs the secret also if the events are JSON.
      if (target) {
        process.stderr.write(`Forwarding to ${withoutUser(target)}. The secret is ${secret}\n`)
      }
      const stop = new AbortController()
      // The event in hand is handled and recorded first: otherwise the next run would repeat it.
      beforeInterruption(() => stop.abort())

      const follow = async (after: string | undefined) => {
        let saving = Promise.resolve()
        const feed = client.tools.events.follow(after, {
          signal: stop.signal,
          onConnection(state) {
            if (state === 'lost') return out.warn('The connection is lost. Reconnecting.')
            out.warn('Waiting for events.')
            // The first run has a position now, even if it is killed before the first event.
            saving = saved.save(feed.cursor()!)
            saving.catch(() => {})
          },
        })
        for await (const event of feed) {
          if (!wanted || wanted.includes(event.event)) {
            const outcome = target ? await post(target, event, secret) : undefined
            out.line({ ...event, ...(outcome && { outcome }) }, [
              event.created_at,
              event.event,
              `#${event.delivery_id}`,
              outcome,
            ])
          }
          await saving
          await saved.save(feed.cursor()!)
          if (stop.signal.aborted) break
        }
        await saving
      }

      const { after } = options
      if (after !== undefined) {
        return follow(after === 'now' ? undefined : after).catch((error) =>
          explainPosition(after, error),
        )
      }
      if (saved.position !== undefined) {
        out.note('Continuing after the last run. "--after now" skips what happened since.')
      }
      try {
        await follow(saved.position)
      } catch (error) {
        if (!(error instanceof ValidationError) || saved.position === undefined) throw error
        out.note('The position of the last run belongs to another database. Starting now.')
        await follow(undefined)
      }
    })
}

function explainPosition(after: string, error: unknown): never {
  if (!(error instanceof ValidationError)) throw error
  throw new CommandError(
    `--after "${after}" is not a position in the events of this marketplace: give "now", or leave --after out to continue after the last run.`,
    EXIT.usage,
  )
}

function addressOf(text: string): URL {
  const url = URL.parse(text)
  if (url && /^https?:$/.test(url.protocol)) return url
  throw new CommandError('--forward must be an http or https address.', EXIT.usage)
}

/** The events of `--events` in one order, because they are a part of the position's name. */
function eventsIn(text: string | undefined): string[] | undefined {
  const names = text?.split(',').map((name) => name.trim())
  const unknown = names?.find((name) => !EVENTS.some((event) => event === name))
  if (unknown === undefined) return names?.sort()
  throw new CommandError(
    `There is no event "${unknown}": the events are ${EVENTS.join(', ')}.`,
    EXIT.usage,
  )
}

/** The same for a key each time, so that a receiver keeps its setting. */
const secretOf = (key: string) =>
  `svc_whsec_${createHash('sha256').update(`listen ${key}`).digest('hex').slice(0, 40)}`

/** The address without its user and password, which `fetch` refuses. */
const withoutUser = (url: URL) => Object.assign(new URL(url), { username: '', password: '' })

/** The header for the user and password of an address, as a delivery has it. */
function userOf({ username, password }: URL): Record<string, string> {
  if (!username && !password) return {}
  const user = [username, password].map(decodeURIComponent).join(':')
  return { authorization: `Basic ${Buffer.from(user).toString('base64')}` }
}

/** Posts an event once, and returns the outcome in words. */
async function post(url: URL, event: WebhookEvent, secret: string): Promise<string> {
  const body = JSON.stringify(event)
  try {
    const { status } = await fetch(withoutUser(url), {
      method: 'POST',
      headers: {
        ...userOf(url),
        'content-type': 'application/json',
        'x-service-event': event.event,
        'x-service-delivery': String(event.delivery_id),
        ...(await sign(body, secret)),
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    return String(status)
  } catch (error) {
    const { name, message, cause } = error as Error & {
      cause?: { code?: string; message: string }
    }
    if (name === 'TimeoutError') return `no response within ${TIMEOUT_MS / 1000} seconds`
    return `not received (${cause?.code ?? cause?.message ?? message})`
  }
}
