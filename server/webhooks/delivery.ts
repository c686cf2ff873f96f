import type { DeliveryStatus, WebhookEvent } from '../enums.ts'
import { notFound } from '../errors.ts'
import { bodyOf } from './request.ts'

/** An entry of a delivery's log. */
export type Attempt = {
  /** Start of the attempt. */
  at: Date
  /** null without a response. */
  statusCode: number | null
  /** The reason of the failure, in a sentence; null for a success. */
  error: string | null
  durationMs: number
  /** The beginning of the response's text. */
  response: string | null
}

/** A failed one. */
export type FailedAttempt = Attempt & { error: string }

/** The latest attempts that a delivery's log keeps: a seller may request resends without limit. */
export const MAX_ATTEMPTS_KEPT = 50

/** The delivery of one event to one endpoint. */
export type Delivery = {
  id: number
  accountId: number
  endpointId: number
  isEndpointDeleted: boolean
  event: WebhookEvent
  /** The event's data in JSON, as it is sent. */
  data: string
  status: DeliveryStatus
  /** Oldest first, at most MAX_ATTEMPTS_KEPT. */
  attempts: Attempt[]
  /** The next retry or requested resend. */
  nextAttemptAt: Date | null
  /** The time of the event. */
  createdAt: Date
}

/** The body of its requests. */
export const payloadOf = ({ id, ...delivery }: Delivery) => bodyOf({ deliveryId: id, ...delivery })

/** A delivery claimed by this process. `claimId` is the fencing token (../queue/README.md). */
export type ClaimedDelivery = {
  id: number
  claimId: number
  endpointId: number
  accountId: number
  /** The endpoint is neither disabled nor deleted. */
  isWanted: boolean
  /** The number of the endpoint's secret, which grows with each rotation. */
  secretNumber: number
  event: WebhookEvent
  data: string
  createdAt: Date
  /** The time at which the attempt became due. */
  dueAt: Date
  /** Attempts so far, not counting resends, and the start of the first. */
  tries: number
  firstAttemptAt: Date | null
  /** A requested resend, in addition to the schedule. It doesn't count as one of the attempts. */
  isResend: boolean
  resendAt: Date | null
}

export const deliveryNotFound = () => notFound('There is no such delivery.')
