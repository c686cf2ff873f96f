import type { Context } from '../context.ts'
import { reasonFor } from '../outbound/failure-reason.ts'
import { orAborted, PrivateAddressError, publicAddresses } from '../outbound/guarded-connector.ts'
import type { Network } from '../outbound/network.ts'
import type { PinnedPools } from '../outbound/pinned-pools.ts'
import type { Attempt, ClaimedDelivery } from './delivery.ts'
import type { CachedEndpoint } from './endpoint-cache.ts'
import { type Answered, post, UnfinishedAnswerError } from './post.ts'
import { envelopeOf, headersOf } from './request.ts'

/** An attempt that came to its end. */
export type Attempted = {
  attempt: Attempt
  /** The receiver took it. */
  isTaken: boolean
  /** Another attempt wouldn't help (§6.6.5). */
  isHopeless: boolean
}

/**
 * Sends a delivery once (§6): looks the host up and refuses what isn't public, signs, posts, and reads the answer. All
 * of it has WEBHOOK_TIMEOUT_MS, however slowly anything trickles in.
 *
 * @param stopping the process is about to end
 * @returns how it went; undefined when it was ended by `stopping`, or not begun
 */
export async function attemptDelivery(
  ctx: Context & { network: Network },
  pools: PinnedPools,
  endpoint: CachedEndpoint,
  delivery: ClaimedDelivery,
  stopping: AbortSignal,
): Promise<Attempted | undefined> {
  if (stopping.aborted) return undefined
  const at = ctx.now()
  const began = performance.now()
  const ended = (more: Pick<Attempt, 'statusCode' | 'error' | 'response'>): Attempt => ({
    at,
    durationMs: Math.round(performance.now() - began),
    ...more,
  })
  const patience = new AbortController()
  const giveUp = () => patience.abort(new DOMException('Too late.', 'TimeoutError'))
  const timer = setTimeout(giveUp, ctx.config.webhookTimeoutMs)
  stopping.addEventListener('abort', giveUp)
  try {
    const { statusCode, text } = await send(ctx, pools, endpoint, delivery, {
      at,
      signal: patience.signal,
    })
    const isTaken = statusCode >= 200 && statusCode < 300
    const error = isTaken ? null : refusalOf(statusCode)
    return {
      attempt: ended({ statusCode, error, response: text }),
      isTaken,
      isHopeless: false,
    }
  } catch (error) {
    if (stopping.aborted) return undefined
    const statusCode = error instanceof UnfinishedAnswerError ? error.statusCode : null
    const isHopeless = error instanceof PrivateAddressError
    return {
      attempt: ended({ statusCode, error: reasonFor(error as Error), response: null }),
      isTaken: false,
      isHopeless,
    }
  } finally {
    clearTimeout(timer)
    stopping.removeEventListener('abort', giveUp)
  }
}

async function send(
  ctx: Context & { network: Network },
  pools: PinnedPools,
  { secret, hostname, origin, path, headers }: CachedEndpoint,
  delivery: ClaimedDelivery,
  { at, signal }: { at: Date; signal: AbortSignal },
): Promise<Answered> {
  const { id: deliveryId, event } = delivery
  const addresses = await orAborted(
    publicAddresses(ctx.network, hostname, { allowPrivate: ctx.config.webhookAllowPrivate }),
    signal,
  )
  const body = Buffer.from(envelopeOf({ deliveryId, ...delivery }))
  const signed = headersOf({ event, deliveryId }, { body, secret, sentAt: at })
  return post(
    pools.to(origin, addresses),
    { path, headers: { ...headers, ...signed }, body },
    signal,
  )
}

const refusalOf = (statusCode: number) =>
  statusCode < 400
    ? `The receiver answered with status ${statusCode}; redirects are not followed.`
    : `The receiver answered with status ${statusCode}.`
