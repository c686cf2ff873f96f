import { createHash } from 'node:crypto'
import { CardstallError, sign, type WebhookEvent } from '@cardstall/sdk'
import type { Command } from 'commander'
import { CommandError, EXIT, openSession } from '../session.ts'

const TIMEOUT_MS = 10_000

/** `webhooks listen`. */
export function listenCommand(webhooks: Command): void {
  webhooks
    .command('listen')
    .description('print your events as they happen, resends included, until Ctrl-C')
    .option('--forward <url>', 'post each event to this address, signed like a delivery')
    .option('--events <names>', 'only these events, separated by commas')
    .option('--after <position>', 'continue after this position, to miss nothing')
    .action(
      async (
        { forward, events, after }: { forward?: string; events?: string; after?: string },
        command: Command,
      ) => {
        const { client, out, profile } = await openSession(command)
        const target = forward === undefined ? undefined : addressOf(forward)
        const wanted = events?.split(',')
        const secret = secretOf(profile.key)
        if (target) out.note(`Forwarding to ${target}. The secret is ${secret}`)
        else out.note('Waiting for events.')
        const feed = client.tools.events.follow(after)
        for await (const event of feed) {
          if (wanted && !wanted.includes(event.event)) continue
          const outcome = target ? await post(target, event, secret) : undefined
          out.line({ ...event, ...(outcome && { outcome }) }, [
            event.created_at,
            event.event,
            `#${event.delivery_id}`,
            outcome,
          ])
        }
      },
    )
}

function addressOf(text: string): URL {
  const url = URL.parse(text)
  if (url && /^https?:$/.test(url.protocol)) return url
  throw new CommandError('--forward must be an http or https address.', EXIT.usage)
}

/** The same for a key each time, so that a receiver keeps its setting. */
const secretOf = (key: string) =>
  `svc_whsec_${createHash('sha256').update(`listen ${key}`).digest('hex').slice(0, 40)}`

/** Posts an event once, and returns the outcome in words. */
async function post(url: URL, event: WebhookEvent, secret: string): Promise<string> {
  const body = JSON.stringify(event)
  try {
    const { status } = await fetch(url, {
      method: 'POST',
      headers: {
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
    if (error instanceof CardstallError) throw error
    const { message, cause } = error as Error & { cause?: { code?: string } }
    return cause?.code ?? message
  }
}
