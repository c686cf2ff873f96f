import type { Context } from '../context.ts'
import { reasonFor } from '../outbound/failure-reason.ts'
import { PrivateAddressError, publicAddresses } from '../outbound/guarded-connector.ts'
import type { Network } from '../outbound/network.ts'
import type { PinnedPools } from '../outbound/pinned-pools.ts'
import { orAborted } from '../time/or-aborted.ts'
import type { Attempt, ClaimedDelivery, FailedAttempt } from './delivery.ts'
import type { CachedEndpoint } from './endpoint-cache.ts'
import { post, type Response, UnfinishedResponseError } from './post.ts'
import { bodyOf, headersOf } from './request.ts'

/** A finished attempt. */
export type Attempted =
  /** The receiver responded with a 2xx status. */
  | { attempt: Attempt; isTaken: true }
  | {
      attempt: FailedAttempt
      isTaken: false
      /** A retry cannot succeed (§6.6.5). */
      isHopeless: boolean
    }

/**
 * Sends a delivery once (§6): resolves the host, refuses private addresses, signs, posts and reads the response, all
 * within WEBHOOK_TIMEOUT_MS.
 *
 * @param stopping aborted when the process is about to end
 * @returns undefined if `stopping` prevented or interrupted the attempt
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
  const startedAt = performance.now()
  const finished = <Result extends Pick<Attempt, 'statusCode' | 'error' | 'response'>>(
    result: Result,
  ) => ({ at, durationMs: Math.round(performance.now() - startedAt), ...result })
  const timeout = new AbortController()
  const abort = () => timeout.abort(new DOMException('The attempt timed out.', 'TimeoutError'))
  const timer = setTimeout(abort, ctx.config.webhookTimeoutMs)
  stopping.addEventListener('abort', abort)
  try {
    const { statusCode, text: response } = await send(ctx, pools, endpoint, delivery, {
      at,
      signal: timeout.signal,
    })
    if (statusCode >= 200 && statusCode < 300) {
      return { attempt: finished({ statusCode, error: null, response }), isTaken: true }
    }
    return {
      attempt: finished({ statusCode, error: errorFor(statusCode), response }),
      isTaken: false,
      isHopeless: false,
    }
  } catch (error) {
    if (stopping.aborted) return undefined
    const statusCode = error instanceof UnfinishedResponseError ? error.statusCode : null
    const isHopeless = error instanceof PrivateAddressError
    return {
      attempt: finished({ statusCode, error: reasonFor(error as Error), response: null }),
      isTaken: false,
      isHopeless,
    }
  } finally {
    clearTimeout(timer)
    stopping.removeEventListener('abort', abort)
  }
}

async function send(
  ctx: Context & { network: Network },
  pools: PinnedPools,
  { secret, previous, hostname, origin, path, headers }: CachedEndpoint,
  delivery: ClaimedDelivery,
  { at, signal }: { at: Date; signal: AbortSignal },
): Promise<Response> {
  const { id: deliveryId, event } = delivery
  const addresses = await orAborted(
    publicAddresses(ctx.network, hostname, { allowPrivate: ctx.config.webhookAllowPrivate }),
    signal,
  )
  const body = Buffer.from(bodyOf({ deliveryId, ...delivery }))
  const signed = headersOf({ event, deliveryId }, { body, secret, previous, sentAt: at })
  return post(
    pools.to(origin, addresses),
    { path, headers: { ...headers, ...signed }, body },
    signal,
  )
}

const errorFor = (statusCode: number) =>
  statusCode < 400
    ? `The receiver responded with status ${statusCode}; redirects are not followed.`
    : `The receiver responded with status ${statusCode}.`
