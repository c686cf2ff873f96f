import type { WebhookEvent } from '../enums.ts'
import { notFound } from '../errors.ts'
import { envelopeOf } from './request.ts'

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'skipped'] as const

/**
 * `pending`: to be attempted. `failed`: every attempt failed. `skipped`: the endpoint was disabled or deleted before it
 * could be delivered.
 */
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** One attempt, as the log keeps it. */
export type Attempt = {
  /** When it began. */
  at: Date
  /** What the receiver answered; null when it didn't. */
  statusCode: number | null
  /** Why it failed, a sentence of ours; null when it didn't. */
  error: string | null
  durationMs: number
  /** How the answer begins. */
  response: string | null
}

/** An event's way to one endpoint. */
export type Delivery = {
  id: number
  accountId: number
  endpointId: number
  event: WebhookEvent
  /** The event's data, as it stands in the envelope. */
  data: string
  status: DeliveryStatus
  /** Oldest first. */
  attempts: Attempt[]
  /** Also when somebody asked for an attempt beside the schedule. */
  nextAttemptAt: Date | null
  /** When the event happened. */
  createdAt: Date
}

/** What was sent, or will be. */
export const payloadOf = ({ id, ...letter }: Delivery) => envelopeOf({ deliveryId: id, ...letter })

/**
 * A delivery that this process is at. `claims` tells whose it is: each claim has a number of its own, so that one who
 * was taken for dead can't write over the next.
 */
export type ClaimedDelivery = {
  id: number
  claims: number
  endpointId: number
  /** Neither disabled nor deleted. */
  isWanted: boolean
  event: WebhookEvent
  data: string
  createdAt: Date
  /** Since when it was to be attempted. */
  dueAt: Date
  /** Attempts that followed the schedule so far, and when the first of them began. */
  tries: number
  firstAttemptAt: Date | null
  /** It's asked for beside the schedule, and doesn't count. */
  isResend: boolean
  resendAt: Date | null
}

export const deliveryNotFound = () => notFound('There is no such delivery.')
