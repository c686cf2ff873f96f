import { CardstallError } from './errors.ts'
import { type Options, sleep, type Transport } from './transport.ts'
import type { WebhookEvent } from './webhooks.ts'

/** Your events as they happen. `cursor()` follows the last event that was handled: store it with its effects. */
export type EventFeed = AsyncIterable<WebhookEvent> & { cursor(): string | undefined }

const RETRY_MS = 1_000
/** Three heartbeats: after a longer silence the connection counts as lost. */
const SILENCE_MS = 45_000

/**
 * Follows the stream of events until `signal` is aborted. It reconnects after a lost connection, and continues after the
 * last event that was handled.
 *
 * @param after position to continue after; without one, the feed begins now
 */
export function followEvents(send: Transport, after?: string, options: Options = {}): EventFeed {
  let position = after
  async function* read(): AsyncGenerator<WebhookEvent> {
    const { signal } = options
    while (!signal?.aborted) {
      try {
        const { body } = await send<ReadableStream<Uint8Array>>('GET', '/events/stream', {
          ...options,
          api: 'tools/v1',
          query: { after: position },
          accept: 'text/event-stream',
        })
        for await (const { id, data } of messagesOf(body)) {
          if (data !== undefined) yield JSON.parse(data)
          position = id ?? position
          if (signal?.aborted) return
        }
      } catch (error) {
        if (signal?.aborted) return
        const { status = 503 } = error as Partial<CardstallError>
        const isLasting = error instanceof CardstallError && status < 500 && status !== 429
        if (isLasting || position === undefined) throw error
      }
      await sleep(RETRY_MS, signal).catch(() => {})
    }
  }
  return { [Symbol.asyncIterator]: read, cursor: () => position }
}

/** The messages of a stream of server-sent events, as this service writes them: blocks of lines that end in `\n`. */
async function* messagesOf(stream: ReadableStream<Uint8Array>) {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (;;) {
      const timer = setTimeout(() => reader.cancel().catch(() => {}), SILENCE_MS)
      const { value, done } = await reader.read().finally(() => clearTimeout(timer))
      if (done) return
      text += decoder.decode(value, { stream: true })
      const blocks = text.split('\n\n')
      text = blocks.pop()!
      for (const block of blocks) {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
        yield { id: field('id'), data: field('data') }
      }
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}
