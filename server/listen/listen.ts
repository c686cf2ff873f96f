import type { Config } from '../config.ts'
import { realTime } from '../time/real-time.ts'
import { type Reading, readEvents } from './event-source.ts'
import { type Forwarder, forwarder } from './forward.ts'
import { type Listening, readOptions } from './options.ts'

/**
 * `npm run listen`: prints a seller's events as they happen, and forwards them to a receiver under development, without
 * an endpoint. Runs until a signal stops it.
 *
 * @returns the exit code
 * @throws StartError if the event stream cannot be opened
 */
export async function listen(config: Config, parameters: string[]): Promise<number> {
  const listening = await readOptions(config, parameters)
  const ended = endOfListening()
  const { forward, url } = listening
  const receiver = forward && forwarder(forward, `Cardstall (+${url})`, ended)
  try {
    for await (const reading of readEvents(listening, ended)) {
      await handle(reading, listening, receiver, ended)
    }
  } finally {
    await receiver?.close()
  }
  return 0
}

/** Aborts at the first signal (npm may forward a second one), or when standard output is closed. */
function endOfListening(): AbortSignal {
  const ending = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => ending.abort())
  }
  process.stdout.on('error', () => ending.abort())
  return ending.signal
}

async function handle(
  reading: Reading,
  listening: Listening,
  receiver: Forwarder | undefined,
  ended: AbortSignal,
): Promise<void> {
  switch (reading.kind) {
    case 'opened':
      return print(greeting(listening))
    case 'lost':
      return print(`${time()}  ${listening.url} is unavailable. Retrying every second.`)
    case 'back':
      return print(`${time()}  ${listening.url} is available again.`)
    case 'event': {
      const { event, envelope } = reading
      if (!listening.events.some((selected) => selected === event)) return
      const payload = JSON.parse(envelope)
      const deliveryId: number = payload.delivery_id
      const line = `${time()}  ${event.padEnd(WIDEST_EVENT)}  #${deliveryId}`
      if (!receiver) return print(`${line}\n${JSON.stringify(payload, null, 2)}`)
      const outcome = await receiver.forward({ event, deliveryId }, envelope)
      if (!ended.aborted) print(`${line}  ${outcome}`)
    }
  }
}

const WIDEST_EVENT = 'order.label_ready'.length

function greeting({ url, accountId, events, forward }: Listening): string {
  const lines = ['', `Listening to account ${accountId} at ${url}`, '']
  lines.push(`  events         ${events.join(', ')}`)
  if (forward) {
    lines.push(
      `  forwarded to   ${forward.url.href}`,
      `  signed with    WEBHOOK_SECRET=${forward.secret}`,
    )
  }
  lines.push('  ends with      Ctrl-C', '')
  return lines.join('\n')
}

/** The current local time. */
const time = () => new Date(realTime()).toTimeString().slice(0, 8)

/** Prints without control characters: buyers' names must not move the cursor. */
const print = (text: string) => {
  process.stdout.write(`${text.replace(/[\p{Cc}--\n]/gv, '?')}\n`)
}
