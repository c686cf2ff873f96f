import { CardstallError, ConnectionError } from './errors.ts'
import { notify, type Options, onAbort, sleep, type Transport } from './transport.ts'
import type { WebhookEvent } from './webhooks.ts'

/** Your events as they happen. `cursor()` is the position after the current event: store it when the event is handled. */
export type EventFeed = AsyncIterable<WebhookEvent> & { cursor(): string | undefined }

export type EventOptions = Options & {
  /** Called when a connection has begun, where `cursor()` is set, and when it is lost. */
  onConnection?: ((state: 'open' | 'lost') => void) | undefined
}

const MAX_PAUSE_S = 300
/** Three heartbeats: after a longer silence the connection counts as lost. */
const SILENCE_MS = 45_000

/**
 * Follows the stream of events until `signal` is aborted. It reconnects after a lost connection, and continues after the
 * current event.
 *
 * @param send of the tools API
 * @param after position to continue after; without one, the feed begins now
 */
export function followEvents(
  send: Transport,
  after?: string,
  { onConnection, ...options }: EventOptions = {},
): EventFeed {
  let position = after
  let isOpen = false
  let wasOpen = false
  async function* read(): AsyncGenerator<WebhookEvent> {
    const { signal } = options
    while (!signal?.aborted) {
      let retryAfter: number | undefined
      try {
        const { body } = await send<ReadableStream<Uint8Array>>('GET', '/events/stream', {
          ...options,
          query: { after: position },
          accept: 'text/event-stream',
        })
        for await (const { id, data } of messagesOf(body, signal)) {
          position = id ?? position
          if (!isOpen) notify(onConnection, 'open')
          isOpen = wasOpen = true
          if (data !== undefined) yield JSON.parse(data)
          if (signal?.aborted) return
        }
      } catch (error) {
        // The reason of an abort may be null.
        retryAfter = (error as CardstallError | null)?.retryAfter
        // 409: the service still counts the lost connections, as long as it may believe that they live.
        const isLost =
          signal?.aborted ||
          !(error instanceof CardstallError) ||
          isPassing(error) ||
          (wasOpen && error.status === 409)
        if (!isLost) throw error
      }
      if (isOpen && !signal?.aborted) notify(onConnection, 'lost')
      isOpen = false
      await pause(retryAfter, signal)
    }
  }
  return { [Symbol.asyncIterator]: read, cursor: () => position }
}

/** Waits before a feed tries again: a second, or longer if the service demands it, but at most five minutes. */
export const pause = (retryAfter: number | undefined, signal?: AbortSignal) =>
  sleep(Math.min(retryAfter || 1, MAX_PAUSE_S) * 1000, signal).catch(() => {})

/** Whether a feed may succeed later: the service cannot be reached, is busy, or failed. */
export const isPassing = (error: unknown) =>
  error instanceof ConnectionError ||
  (error instanceof CardstallError && (error.status === 429 || error.status! >= 500))

/** The messages of a stream of server-sent events, as this service writes them: blocks of lines that end in `\n`. */
async function* messagesOf(stream: ReadableStream<Uint8Array>, signal?: AbortSignal) {
  const reader = stream.getReader()
  const end = () => reader.cancel().catch(() => {})
  const decoder = new TextDecoder()
  let text = ''
  const ignoreAbort = onAbort(signal, end)
  try {
    for (;;) {
      const timer = setTimeout(end, SILENCE_MS)
      const { value, done } = await reader.read().finally(() => clearTimeout(timer))
      if (done) return
      text += decoder.decode(value, { stream: true })
      const blocks = text.split('\n\n')
      text = blocks.pop()!
      for (const block of blocks) {
        // Not `.` and `m`: a text in the data can have U+2028, which both take for the end of the line.
        const field = (name: string) => new RegExp(`(?:^|\n)${name}: ([^\n]*)`).exec(block)?.[1]
        yield { id: field('id'), data: field('data') }
      }
    }
  } finally {
    ignoreAbort()
    end()
  }
}
