import type { Config } from '../config.ts'
import { realTime } from '../time/real-time.ts'
import { type Reading, readEvents } from './event-source.ts'
import { type Forwarder, forwarder } from './forward.ts'
import { type Listening, readOptions } from './options.ts'

/**
 * `npm run listen`: shows a seller's events as they happen and posts each to a receiver that is being worked on, without
 * an endpoint. Runs until a signal ends it.
 *
 * @returns the exit code
 * @throws StartError when there is nothing to listen to
 */
export async function listen(config: Config, parameters: string[]): Promise<number> {
  const listening = await readOptions(config, parameters)
  const ended = endOfListening()
  const { forward, url } = listening
  const receiver = forward && forwarder(forward, `Cardstall (+${url})`, ended)
  try {
    for await (const reading of readEvents(listening, ended)) {
      await tellOf(reading, listening, receiver, ended)
    }
  } finally {
    await receiver?.close()
  }
  return 0
}

/** The first signal ends it; npm may pass on a second. So does a reader of our output that has left. */
function endOfListening(): AbortSignal {
  const ending = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => ending.abort())
  }
  process.stdout.on('error', () => ending.abort())
  return ending.signal
}

async function tellOf(
  reading: Reading,
  listening: Listening,
  receiver: Forwarder | undefined,
  ended: AbortSignal,
): Promise<void> {
  switch (reading.kind) {
    case 'opened':
      return tell(greeting(listening))
    case 'lost':
      return tell(`${time()}  ${listening.url} is away. Trying again every second.`)
    case 'back':
      return tell(`${time()}  ${listening.url} is back.`)
    case 'event': {
      const { event, envelope } = reading
      if (!listening.events.some((wanted) => wanted === event)) return
      const payload = JSON.parse(envelope)
      const deliveryId: number = payload.delivery_id
      const line = `${time()}  ${event.padEnd(WIDEST_EVENT)}  #${deliveryId}`
      if (!receiver) return tell(`${line}\n${JSON.stringify(payload, null, 2)}`)
      const outcome = await receiver.forward({ event, deliveryId }, envelope)
      if (!ended.aborted) tell(`${line}  ${outcome}`)
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

/** When it arrived here, by the clock on the wall. */
const time = () => new Date(realTime()).toTimeString().slice(0, 8)

/** Buyers' names come from elsewhere: none may move the cursor. */
const tell = (text: string) => {
  process.stdout.write(`${text.replace(/[\p{Cc}--\n]/gv, '?')}\n`)
}
