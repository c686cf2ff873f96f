import { Pool } from 'undici'
import { reasonFor } from '../outbound/failure-reason.ts'
import { realTime } from '../time/real-time.ts'
import { credentialsIn } from '../webhooks/basic-auth.ts'
import { post } from '../webhooks/post.ts'
import { headersOf } from '../webhooks/request.ts'
import type { Listening } from './options.ts'

const TIMEOUT_MS = 10_000

export type Forwarder = {
  /**
   * Posts an event once, signed like a delivery.
   *
   * @returns the outcome in words
   */
  forward(event: { event: string; deliveryId: number }, envelope: string): Promise<string>
  close(): Promise<void>
}

/**
 * Opens a forwarder to a receiver. It signs with the real time, because the receiver's clock is real, however far the
 * service's clock has moved ahead.
 */
export function forwarder(
  { url, secret }: NonNullable<Listening['forward']>,
  userAgent: string,
  ended: AbortSignal,
): Forwarder {
  // A new connection for each event, because a receiver under development restarts often.
  const pool = new Pool(url.origin, { pipelining: 0 })
  const path = url.pathname + url.search
  return {
    async forward(event, envelope) {
      const body = Buffer.from(envelope)
      const headers = {
        ...headersOf(event, { body, secret, sentAt: new Date(realTime()) }),
        ...credentialsIn(url),
        'user-agent': userAgent,
      }
      const signal = AbortSignal.any([ended, AbortSignal.timeout(TIMEOUT_MS)])
      const began = performance.now()
      const inMs = () => `in ${Math.round(performance.now() - began)} ms`
      try {
        const { statusCode, text } = await post(pool, { path, headers, body }, signal)
        const isTaken = statusCode >= 200 && statusCode < 300
        const beginning = isTaken ? '' : beginningOf(text)
        return `${statusCode} ${inMs()}${beginning && `: ${beginning}`}`
      } catch (error) {
        return `${reasonFor(error as Error)} (${inMs()})`
      }
    },
    close: () => pool.destroy(),
  }
}

/** The first line of an error response. */
const beginningOf = (text: string) => text.trim().split('\n', 1)[0]!.slice(0, 200)
