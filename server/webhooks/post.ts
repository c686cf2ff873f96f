import type { Dispatcher } from 'undici'

/** More than this of an answer is never read, and so much of it is kept. */
const MAX_BYTES = 64 * 1024
const KEPT_BYTES = 1_000

/** What the receiver answered: its status, and how its text begins. */
export type Answered = { statusCode: number; text: string }

/** It began to answer and didn't finish; the message is a sentence for the receiver's owner. */
export class UnfinishedAnswerError extends Error {
  override name = 'UnfinishedAnswerError'
  readonly statusCode: number

  constructor(statusCode: number, why: 'late' | 'broken off') {
    super(
      why === 'late'
        ? 'The server did not finish its answer in time.'
        : 'The connection failed before the answer had ended.',
    )
    this.statusCode = statusCode
  }
}

type Post = { path: string; headers: Record<string, string>; body: Buffer }

/**
 * Posts and takes in the answer, at most 64 KiB of it: what is longer is cut off, and counts as it began. Redirects are
 * answers as any other.
 *
 * @param signal ends it, wherever it is
 * @throws the connection's error; UnfinishedAnswerError when the answer had begun by then
 */
export function post(
  dispatcher: Dispatcher,
  { path, headers, body }: Post,
  signal: AbortSignal,
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const kept: Buffer[] = []
    let controller: Dispatcher.DispatchController | undefined
    let statusCode = 0
    let length = 0

    const end = (settle: () => void) => {
      signal.removeEventListener('abort', giveUp)
      settle()
    }
    const giveUp = () => {
      end(() => reject(statusCode ? new UnfinishedAnswerError(statusCode, 'late') : signal.reason))
      controller?.abort(signal.reason)
    }
    const finish = () => end(() => resolve({ statusCode, text: textOf(kept) }))

    if (signal.aborted) return reject(signal.reason)
    signal.addEventListener('abort', giveUp)
    dispatcher.dispatch(
      { method: 'POST', path, headers, body },
      {
        onRequestStart(started) {
          controller = started
          // It waited for its connection for too long: nobody wants it to be sent any more.
          if (signal.aborted) started.abort(signal.reason)
        },
        onResponseStart(_controller, status) {
          // 1xx only says that an answer is to come.
          if (status >= 200) statusCode = status
        },
        onResponseData(_controller, chunk) {
          if (length < KEPT_BYTES) kept.push(chunk)
          length += chunk.length
          if (length <= MAX_BYTES) return
          finish()
          controller?.abort(new Error('The answer is longer than is read.'))
        },
        onResponseEnd: finish,
        onResponseError(_controller, error) {
          end(() =>
            reject(statusCode ? new UnfinishedAnswerError(statusCode, 'broken off') : error),
          )
        },
      },
    )
  })
}

/** Readable and storable, whatever came. */
const textOf = (chunks: Buffer[]): string =>
  Buffer.concat(chunks).subarray(0, KEPT_BYTES).toString('utf8').replaceAll('\0', '')
