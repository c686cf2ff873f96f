import { timestamp } from '../time/timestamp.ts'
import { signatureOf } from './signature.ts'

/** The part of an event that its request carries. */
type OutgoingEvent = {
  deliveryId: number
  event: string
  /** The event's `data` in JSON, as it was recorded. */
  data: string
  /** The time of the event. */
  createdAt: Date
}

/** The body of a request (§6.2), the same in every attempt. It contains the recorded `data` byte for byte. */
export const bodyOf = ({ deliveryId, event, data, createdAt }: OutgoingEvent): string =>
  `{"event":"${event}","delivery_id":${deliveryId},"created_at":"${timestamp(createdAt)}","data":${data}}`

/**
 * The headers of a request (§6.4).
 *
 * @param sentAt the time of the attempt
 * @param previous the secret before a rotation. Its signature has a header of its own, because receivers that know nothing
 *   of rotations expect exactly one in X-Service-Signature
 */
export function headersOf(
  { event, deliveryId }: Pick<OutgoingEvent, 'event' | 'deliveryId'>,
  {
    body,
    secret,
    previous,
    sentAt,
  }: {
    body: string | Uint8Array
    secret: string
    previous?: { secret: string; until: Date } | undefined
    sentAt: Date
  },
): Record<string, string> {
  const seconds = Math.floor(sentAt.getTime() / 1000)
  return {
    'content-type': 'application/json',
    'x-service-event': event,
    'x-service-delivery': String(deliveryId),
    'x-service-timestamp': String(seconds),
    'x-service-signature': signatureOf(secret, seconds, body),
    ...(previous && sentAt < previous.until
      ? { 'x-service-signature-previous': signatureOf(previous.secret, seconds, body) }
      : {}),
  }
}
