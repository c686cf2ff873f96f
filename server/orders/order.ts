import type { Canceller, Condition, Fulfilment, Language, OrderStatus } from '../enums.ts'
import { conflict, notFound } from '../errors.ts'

/** One listing sold, to one buyer, in one checkout (§2.7). */
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
  /** For one unit, then. */
  priceCents: number
  item: SoldItem
  /** Frozen at the sale: the tier may change, this doesn't. */
  commissionCents: number
  refundedCents: number
  fulfilment: Fulfilment
  tracking: Tracking
  cancelledBy: Canceller | null
  buyerName: string
  createdAt: Date
  shippedAt: Date | null
  receivedAt: Date | null
  cancelledAt: Date | null
  disputedAt: Date | null
}

/** What was sold, as it was then. */
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

/** What can happen to an order row, from which states, and what it is afterwards. Nothing else ever does. */
export const TRANSITIONS = {
  ship: { from: ['pending'], to: 'shipped' },
  cancel: { from: ['pending', 'shipped', 'disputed'], to: 'cancelled' },
  receive: { from: ['shipped'], to: 'received' },
  dispute: { from: ['shipped', 'received'], to: 'disputed' },
  resolveForSeller: { from: ['disputed'], to: 'received' },
  resolveForBuyer: { from: ['disputed'], to: 'cancelled' },
} as const satisfies Record<string, { from: readonly OrderStatus[]; to: OrderStatus }>

export type Transition = keyof typeof TRANSITIONS

/** @throws conflict when this can't happen to an order row in that state */
export function requireTransition(transition: Transition, status: OrderStatus): void {
  const { from } = TRANSITIONS[transition]
  if ((from as readonly OrderStatus[]).includes(status)) return
  throw conflict(`The order is ${status}: this is possible while it is ${from.join(' or ')}.`)
}

export const orderNotFound = () => notFound('There is no such order.')
