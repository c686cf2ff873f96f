import { eurosFromCents } from '../cents.ts'
import type { Canceller, WebhookEvent } from '../enums.ts'
import type { Address } from '../text/address.ts'

/** The data of the four webhook events (§6.3). Receivers get the keys in the order in which they are written here. */

export type Payload = { event: WebhookEvent; data: object }

/** A listing was sold: one order row of a checkout. */
export const orderCreated = (order: {
  id: number
  sliceKey: string
  listingId: number
  quantity: number
  /** Price of one unit. */
  priceCents: number
  itemName: string
  buyerName: string
  deliveryAddress: Address | null
}) =>
  ({
    event: 'order.created',
    data: {
      order_id: order.id,
      slice_key: order.sliceKey,
      listing_id: order.listingId,
      quantity: order.quantity,
      price: eurosFromCents(order.priceCents),
      currency: 'EUR',
      item_name: order.itemName,
      buyer_name: order.buyerName,
      delivery_address: order.deliveryAddress,
    },
  }) satisfies Payload

/** An order row was cancelled. */
export const orderCancelled = (order: { id: number; cancelledBy: Canceller }) =>
  ({
    event: 'order.cancelled',
    data: { order_id: order.id, cancelled_by: order.cancelledBy },
  }) satisfies Payload

/** A label was bought, or its PDF or tracking code appeared or changed. */
export const orderLabelReady = (label: {
  /** The row of the slice for which the label was requested. */
  orderId: number
  hasLabel: boolean
  labelUrl: string | null
  trackingCode: string | null
}) =>
  ({
    event: 'order.label_ready',
    data: {
      order_id: label.orderId,
      has_label: label.hasLabel,
      label_url: label.labelUrl,
      tracking_code: label.trackingCode,
    },
  }) satisfies Payload

/** A sale took units of a listing. It accompanies `order.created`. */
export const listingSold = (sale: {
  listingId: number
  orderId: number
  quantitySold: number
  remainingQuantity: number
}) =>
  ({
    event: 'listing.sold',
    data: {
      listing_id: sale.listingId,
      order_id: sale.orderId,
      quantity_sold: sale.quantitySold,
      remaining_quantity: sale.remainingQuantity,
    },
  }) satisfies Payload
