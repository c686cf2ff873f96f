import type { Dispatcher } from 'undici'

/** Bytes of a response that are read at most, and that are kept. */
const MAX_BYTES = 64 * 1024
const KEPT_BYTES = 1_000

/** A receiver's response: its status and the beginning of its text. */
export type Response = { statusCode: number; text: string }

/** The response began but did not end. The message is for the receiver's owner. */
export class UnfinishedResponseError extends Error {
  override name = 'UnfinishedResponseError'
  readonly statusCode: number

  constructor(statusCode: number, reason: 'timeout' | 'connection lost') {
    super(
      reason === 'timeout'
        ? 'The server did not finish its response in time.'
        : 'The connection failed before the end of the response.',
    )
    this.statusCode = statusCode
  }
}

type Post = { path: string; headers: Record<string, string>; body: Buffer }

/**
 * Posts a request and reads at most 64 KiB of the response; a longer one is cut off and counts as complete. Redirects
 * are not followed.
 *
 * @throws the connection's error or the signal's reason; UnfinishedResponseError if the response had begun
 */
export function post(
  dispatcher: Dispatcher,
  { path, headers, body }: Post,
  signal: AbortSignal,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const kept: Buffer[] = []
    let controller: Dispatcher.DispatchController | undefined
    let statusCode = 0
    let length = 0

    const end = (settle: () => void) => {
      signal.removeEventListener('abort', abort)
      settle()
    }
    const abort = () => {
      end(() =>
        reject(statusCode ? new UnfinishedResponseError(statusCode, 'timeout') : signal.reason),
      )
      controller?.abort(signal.reason)
    }
    const finish = () => resolve({ statusCode, text: textOf(kept) })

    if (signal.aborted) return reject(signal.reason)
    signal.addEventListener('abort', abort)
    dispatcher.dispatch(
      { method: 'POST', path, headers, body },
      {
        onRequestStart(started) {
          controller = started
          // The request timed out while it waited for a connection.
          if (signal.aborted) started.abort(signal.reason)
        },
        onResponseStart(_controller, status) {
          // 1xx announces the actual response.
          if (status >= 200) statusCode = status
        },
        onResponseData(_controller, chunk) {
          if (length < KEPT_BYTES) kept.push(chunk)
          length += chunk.length
          if (length <= MAX_BYTES) return
          end(finish)
          controller?.abort(new Error('The response is too long.'))
        },
        onResponseEnd() {
          // undici makes the connection available in an immediate that it queues after this call. The caller's next request
          // has to come later, or it would open another connection.
          end(() => process.nextTick(setImmediate, finish))
        },
        onResponseError(_controller, error) {
          end(() =>
            reject(statusCode ? new UnfinishedResponseError(statusCode, 'connection lost') : error),
          )
        },
      },
    )
  })
}

/** Valid UTF-8 without NUL, which PostgreSQL cannot store. */
const textOf = (chunks: Buffer[]): string =>
  Buffer.concat(chunks).subarray(0, KEPT_BYTES).toString('utf8').replaceAll('\0', '')
