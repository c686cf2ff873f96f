import type { Static } from 'typebox'
import { eurosFromCents } from '../../money.ts'
import type { Address } from '../../orders/address.ts'
import { netOf, paidTo, totalsOf } from '../../orders/money.ts'
import type { Order } from '../../orders/order.ts'
import { getSlice, type Slice } from '../../orders/slice.ts'
import type { Service } from '../../service.ts'
import { type LabelShown, labelOf } from '../../shipping/labels.ts'
import { timestamp, timestampOrNull } from '../../time/timestamp.ts'
import type { OrderRow, SliceDetail } from './order.ts'

/** An order row (§2.7). */
export const orderJson = (order: Order): Static<typeof OrderRow> => ({
  id: order.id,
  slice_key: order.sliceKey,
  checkout_id: order.checkoutId,
  status: order.status,
  quantity: order.quantity,
  price: eurosFromCents(order.priceCents),
  currency: 'EUR',
  item: {
    name: order.item.name,
    subtitle: order.item.subtitle,
    image: order.item.image,
    condition: order.item.condition,
    language: order.item.language,
    type: order.item.type,
    id: order.item.id,
    friendly_id: order.item.friendlyId,
  },
  listing_id: order.listingId,
  tracking: {
    code: order.tracking.code,
    url: order.tracking.url,
    status: order.tracking.status,
    updated_at: timestampOrNull(order.tracking.updatedAt),
    fulfilment: order.fulfilment,
  },
  financial: {
    seller_net: eurosFromCents(netOf(order)),
    seller_fee: eurosFromCents(order.commissionCents),
    commission: eurosFromCents(order.commissionCents),
    refunded_amount: eurosFromCents(order.refundedCents),
  },
  buyer: { name: order.buyerName },
  created_at: timestamp(order.createdAt),
  shipped_at: timestampOrNull(order.shippedAt),
  received_at: timestampOrNull(order.receivedAt),
  cancelled_at: timestampOrNull(order.cancelledAt),
  disputed_at: timestampOrNull(order.disputedAt),
})

/** A slice in detail (§2.8). */
function sliceJson(slice: Slice, label: LabelShown | undefined): Static<typeof SliceDetail> {
  const { orders, buyer, shipping, tracking } = slice
  const totals = totalsOf(orders, {
    shippingCents: shipping.cents,
    fulfilment: shipping.fulfilment,
  })
  return {
    slice_key: slice.sliceKey,
    orders: orders.map(orderJson),
    buyer: { name: buyer.name, address: buyer.address && addressJson(buyer.address) },
    totals: {
      merchandise: eurosFromCents(totals.merchandiseCents),
      shipping: eurosFromCents(totals.shippingCents),
      seller_net: eurosFromCents(totals.sellerNetCents),
      currency: 'EUR',
    },
    shipping: {
      method: shipping.method,
      price: eurosFromCents(shipping.cents),
      paid_to: paidTo(shipping.fulfilment),
      seller_share: eurosFromCents(totals.sellerShareCents),
      provider: label?.provider ?? null,
      has_label: label?.hasLabel ?? false,
      tracking_code: tracking.code,
      tracking_status: tracking.status,
      label_url: label?.labelUrl ?? null,
      expires_at: timestampOrNull(label?.expiresAt ?? null),
    },
  }
}

/** Each field in its place: the database keeps them in an order of its own. */
const addressJson = (address: Address): Address => ({
  full_name: address.full_name,
  street: address.street,
  house_number: address.house_number,
  house_number_suffix: address.house_number_suffix,
  zip: address.zip,
  city: address.city,
  country: address.country,
  phone: address.phone,
})

/** The slice of an account's order, in detail. @throws not_found */
export const sliceDetail = async (
  ctx: Service,
  accountId: number,
  orderId: number,
): Promise<Static<typeof SliceDetail>> =>
  sliceWithLabel(ctx, await getSlice(ctx, accountId, orderId))

/** A slice in detail, with what there is of its label. */
export async function sliceWithLabel(
  ctx: Service,
  slice: Slice,
): Promise<Static<typeof SliceDetail>> {
  const labels = await labelOf(ctx, [slice.id])
  return sliceJson(slice, labels.get(slice.id))
}
