import { setTimeout as sleep } from 'node:timers/promises'
import { createParser } from 'eventsource-parser'
import { StartError } from '../start-error.ts'
import { type Listening, notThere } from './options.ts'

const RETRY_INTERVAL_MS = 1_000
const RESPONSE_TIMEOUT_MS = 10_000
/** Three heartbeats: after a longer silence the connection counts as dead. */
const SILENCE_MS = 45_000

/** An event, or a change of the connection's state. */
export type Reading =
  | { kind: 'event'; event: string; envelope: string }
  | { kind: 'opened' | 'lost' | 'back' }

type Source = Pick<Listening, 'url' | 'token' | 'accountId'>

/**
 * Reads an account's event stream until the signal aborts. After a lost connection it reconnects every second and
 * resumes after the last event.
 *
 * @throws StartError if the account does not exist or the token is invalid
 */
export async function* readEvents(source: Source, ended: AbortSignal): AsyncGenerator<Reading> {
  let after: string | undefined
  let state: 'new' | 'open' | 'lost' = 'new'
  while (!ended.aborted) {
    const connection = connectionUntil(ended)
    try {
      const stream = await open(source, { after, isNew: state === 'new' }, connection)
      yield { kind: state === 'new' ? 'opened' : 'back' }
      state = 'open'
      for await (const part of partsOf(stream, connection)) {
        if ('id' in part) after = part.id
        else yield { kind: 'event', ...part }
      }
    } catch (error) {
      if (ended.aborted) return
      if (error instanceof StartError) throw error
      if (state === 'new') throw notThere(source.url, error as Error)
    } finally {
      connection.close()
    }
    if (ended.aborted) return
    if (state === 'open') yield { kind: 'lost' }
    state = 'lost'
    await sleep(RETRY_INTERVAL_MS, undefined, { signal: ended }).catch(() => {})
  }
}

type Connection = ReturnType<typeof connectionUntil>

/** An abort signal for one connection: it aborts with `ended`, at `close`, and at the timeout of `within`. */
function connectionUntil(ended: AbortSignal) {
  const gone = new AbortController()
  return {
    signal: AbortSignal.any([ended, gone.signal]),
    close: () => gone.abort(),
    async within<T>(ms: number, awaited: Promise<T>): Promise<T> {
      const timer = setTimeout(() => gone.abort(new DOMException('', 'TimeoutError')), ms)
      try {
        return await awaited
      } finally {
        clearTimeout(timer)
      }
    },
  }
}

/** @throws StartError for a response that a retry would not change */
async function open(
  { url, token, accountId }: Source,
  { after, isNew }: { after: string | undefined; isNew: boolean },
  { signal, within }: Connection,
): Promise<ReadableStream<Uint8Array>> {
  const response = await within(
    RESPONSE_TIMEOUT_MS,
    fetch(`${url}/operator/v1/accounts/${accountId}/events/stream`, {
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'text/event-stream',
        ...(after === undefined ? {} : { 'last-event-id': after }),
      },
      redirect: 'manual',
      signal,
    }),
  )
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  if (response.status === 200 && isStream && response.body) return response.body
  if (!isNew && (response.status === 429 || response.status >= 500)) {
    throw new Error('The server is temporarily unavailable.')
  }
  throw await refusal(url, response)
}

async function refusal(url: string, response: Response): Promise<StartError> {
  const { status } = response
  if (status === 401) {
    return new StartError(
      `${url} does not accept this operator token: give the right one with --token.`,
    )
  }
  const message = await response
    .json()
    .then((body) => (body as { error: { message: string } }).error.message)
    .catch(() => 'this is not a Cardstall service. Set its address with --url.')
  return new StartError(`${url} responded with status ${status}: ${message}`)
}

type Part = { id: string } | { event: string; envelope: string }

/** Yields ids and messages in the order of the stream. */
async function* partsOf(stream: ReadableStream<Uint8Array>, { within }: Connection) {
  const parts: Part[] = []
  const parser = createParser({
    onId: (id) => parts.push({ id }),
    onEvent: ({ event = '', data }) => parts.push({ event, envelope: data }),
  })
  const decoder = new TextDecoder()
  const reader = stream.getReader()
  for (;;) {
    const { value, done } = await within(SILENCE_MS, reader.read())
    if (done) return
    parser.feed(decoder.decode(value, { stream: true }))
    yield* parts.splice(0)
  }
}
