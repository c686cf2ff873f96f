import {
  type Canceller,
  type CancelReason,
  type Condition,
  type Fulfilment,
  type Language,
  type OrderStatus,
  TRANSITIONS,
} from '../enums.ts'
import { conflict, notFound } from '../errors.ts'

/** An order row: one listing sold in one checkout (§2.7). */
export type Order = {
  id: number
  sliceId: number
  sliceKey: string
  checkoutId: number
  accountId: number
  /** null once the listing has been deleted. */
  listingId: number | null
  status: OrderStatus
  quantity: number
  /** Price of one unit at the time of the sale. */
  priceCents: number
  item: SoldItem
  /** At the rate of the seller's tier at the time of the sale. */
  commissionCents: number
  refundedCents: number
  fulfilment: Fulfilment
  tracking: Tracking
  cancelledBy: Canceller | null
  /** Given by a seller who cancelled the row. */
  cancelReason: CancelReason | null
  buyerName: string
  buyerEmail: string
  createdAt: Date
  shippedAt: Date | null
  receivedAt: Date | null
  cancelledAt: Date | null
  disputedAt: Date | null
  /** End of the last dispute. */
  resolvedAt: Date | null
  /** The last change of the row, its tracking included. */
  updatedAt: Date
}

/** A copy of the item's catalog data, made at the time of the sale. */
export type SoldItem = {
  type: 'card' | 'product' | null
  id: string | null
  friendlyId: string | null
  name: string | null
  subtitle: string | null
  image: string | null
  condition: Condition | null
  language: Language | null
}

export type Tracking = {
  code: string | null
  url: string | null
  status: string | null
  updatedAt: Date | null
}

/** The URL that a parcel has with a new reading of its tracking: a URL is valid only for its own code. */
export const trackingUrlAfter = (
  before: { trackingCode: string | null; trackingUrl: string | null },
  { code, url }: { code: string | null; url?: string | null | undefined },
): string | null => url ?? (code === before.trackingCode ? before.trackingUrl : null)

export type Transition = keyof typeof TRANSITIONS

/** A transition of one row. The others change several rows of a slice together. */
export type RowTransition = Exclude<Transition, 'ship' | 'cancelAsSystem'>

/** @throws conflict if the transition doesn't start from this status */
export function requireTransition(transition: Transition, status: OrderStatus): void {
  const { from } = TRANSITIONS[transition]
  if ((from as readonly OrderStatus[]).includes(status)) return
  throw conflict(`The order is ${status}; this requires it to be ${from.join(' or ')}.`)
}

export const orderNotFound = () => notFound('There is no such order.')
