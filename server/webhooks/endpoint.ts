import type { WebhookEvent } from '../enums.ts'
import { notFound } from '../errors.ts'

/** Where a seller wants to be told of what happens (§2.10). */
export type Endpoint = {
  id: number
  url: string
  /** In the seller's order, each once. */
  events: WebhookEvent[]
  /** Failed deliveries in a row. */
  consecutiveFailures: number
  /** null while it's active. */
  disabledAt: Date | null
  createdAt: Date
}

/** So many can a seller hold, disabled ones among them (§4.16.1). */
export const MAX_ENDPOINTS = 16

/** After so many failed deliveries in a row the seller is warned, and after so many the endpoint disabled (§6.6.4). */
export const WARNED_AFTER = 5
export const DISABLED_AFTER = 10

export const endpointNotFound = () => notFound('There is no such webhook endpoint.')
