import type { WebhookEvent } from '../enums.ts'
import { conflict, notFound } from '../errors.ts'

/** A seller's webhook endpoint (§2.10). */
export type Endpoint = {
  id: number
  url: string
  /** In the seller's order, without duplicates. */
  events: WebhookEvent[]
  /** Deliveries that failed in a row. */
  consecutiveFailures: number
  /** The reason of the last failed delivery; null before the first. */
  failureReason: string | null
  /** null while it's active. */
  disabledAt: Date | null
  createdAt: Date
}

/** Per account, disabled endpoints included (§4.16.1). */
export const MAX_ENDPOINTS = 16

/** Deliveries that fail in a row before the seller is warned, and before the endpoint is disabled (§6.6.4). */
export const WARNED_AFTER = 5
export const DISABLED_AFTER = 10

export const endpointNotFound = () => notFound('There is no such webhook endpoint.')

export const endpointIsInactive = () => conflict('The webhook endpoint is disabled or deleted.')
