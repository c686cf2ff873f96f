import { timestamp } from '../time/timestamp.ts'
import { signatureOf } from './signature.ts'

/** An event on its way to one receiver. */
export type Letter = {
  deliveryId: number
  event: string
  /** The event's `data` as it was written down with it, JSON. */
  data: string
  /** When it happened. */
  createdAt: Date
}

/**
 * The body of a delivery (§6.2), the same for every attempt: what is stored of the event stands in it byte for byte.
 */
export const envelopeOf = ({ deliveryId, event, data, createdAt }: Letter): string =>
  `{"event":"${event}","delivery_id":${deliveryId},"created_at":"${timestamp(createdAt)}","data":${data}}`

/**
 * The headers of one attempt (§6.4).
 *
 * @param sentAt when it is made
 */
export function headersOf(
  { event, deliveryId }: Pick<Letter, 'event' | 'deliveryId'>,
  { body, secret, sentAt }: { body: string | Uint8Array; secret: string; sentAt: Date },
): Record<string, string> {
  const seconds = Math.floor(sentAt.getTime() / 1000)
  return {
    'content-type': 'application/json',
    'x-service-event': event,
    'x-service-delivery': String(deliveryId),
    'x-service-timestamp': String(seconds),
    'x-service-signature': signatureOf(secret, seconds, body),
  }
}
