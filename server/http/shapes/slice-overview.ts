import Type, { type Static } from 'typebox'
import type { SliceOverview } from '../../back-office/slice-overview.ts'
import { eurosFromCents } from '../../cents.ts'
import { BOUGHT_LABEL_STATUSES, FULFILMENTS } from '../../enums.ts'
import { SAMPLE_ADDRESS } from '../../sandbox/sample-events.ts'
import type { AnyShipment } from '../../shipping/all-shipments.ts'
import type { Address } from '../../text/address.ts'
import { timestamp, timestampOrNull } from '../../time/timestamp.ts'
import { amount, component, Nullable, OneOf, Timestamp } from '../schema.ts'
import { AddressSchema, addressJson } from './address.ts'
import { DeliverySchema, deliveryJson } from './delivery.ts'
import { DisputeSchema, disputeJson } from './dispute.ts'
import { exampleEntry, LedgerEntrySchema, ledgerEntryJson } from './ledger.ts'
import { exampleOperatorMail, OperatorMailSchema, operatorMailJson } from './mail.ts'
import {
  exampleOperatorOrder,
  OperatorBuyer,
  OperatorOrderSchema,
  operatorOrderJson,
} from './operator-order.ts'

export const ShipmentSchema = component(
  'Shipment',
  Type.Object(
    {
      slice_key: Type.String(),
      account_id: Type.Integer({ description: 'The seller' }),
      order_id: Type.Integer({ description: 'The row that the label was requested for' }),
      provider: Type.String({ description: 'Carrier platform' }),
      state: OneOf(['buying', 'bought'] as const),
      status: Nullable(OneOf(BOUGHT_LABEL_STATUSES), {
        description: 'Status of the label; null until it is bought',
      }),
      message: Nullable(Type.String()),
      carrier_id: Nullable(Type.String(), { description: 'The carrier’s id of the shipment' }),
      tracking_code: Nullable(Type.String()),
      lines: Type.Integer({ description: 'Rows that it covered when it was bought' }),
      created_at: Timestamp(),
      bought_at: Nullable(Timestamp()),
    },
    { description: 'The shipment of a slice with a platform label.' },
  ),
)

export const shipmentJson = (shipment: AnyShipment): Static<typeof ShipmentSchema> => ({
  slice_key: shipment.sliceKey,
  account_id: shipment.accountId,
  order_id: shipment.orderId,
  provider: shipment.provider,
  state: shipment.state,
  status: shipment.status,
  message: shipment.message,
  carrier_id: shipment.carrierId,
  tracking_code: shipment.trackingCode,
  lines: shipment.lines,
  created_at: timestamp(shipment.createdAt),
  bought_at: timestampOrNull(shipment.boughtAt),
})

export const exampleShipment: Static<typeof ShipmentSchema> = {
  slice_key: exampleOperatorOrder.slice_key,
  account_id: 12,
  order_id: 501,
  provider: 'sendcloud',
  state: 'bought',
  status: 'ready',
  message: null,
  carrier_id: '383707309',
  tracking_code: '3SABCD1234567',
  lines: 1,
  created_at: '2026-03-01T09:30:00Z',
  bought_at: '2026-03-01T09:30:02Z',
}

export const SliceOverviewSchema = component(
  'SliceOverview',
  Type.Object(
    {
      slice_key: Type.String(),
      account_id: Type.Integer({ description: 'The seller' }),
      checkout_id: Type.Integer(),
      created_at: Timestamp(),
      buyer: OperatorBuyer,
      address: Type.Unsafe<Address | null>({ anyOf: [AddressSchema, { type: 'null' }] }),
      shipping: Type.Object({
        method: Type.String({ description: 'Shipping option that the buyer chose' }),
        price: amount('Decimal euros'),
        fulfilment: OneOf(FULFILMENTS),
        tracked: Type.Boolean(),
      }),
      rows: Type.Array(OperatorOrderSchema, { description: 'Order rows, oldest first' }),
      disputes: Type.Array(DisputeSchema, { description: 'About the rows, newest first' }),
      shipment: Type.Unsafe<object | null>({ anyOf: [ShipmentSchema, { type: 'null' }] }),
      mails: Nullable(Type.Array(OperatorMailSchema), {
        description: 'Newest first; null for a role that may not read e-mails',
      }),
      ledger: Type.Array(LedgerEntrySchema, { description: 'Newest first' }),
      deliveries: Nullable(Type.Array(DeliverySchema), {
        description: 'Newest first; null for a role that may not read deliveries',
      }),
    },
    {
      description:
        'Everything about a slice. E-mails and deliveries are kept for a limited time; those from before an upgrade that added the reference are missing.',
    },
  ),
)

export const sliceOverviewJson = ({
  slice,
  disputes,
  shipment,
  mails,
  ledger,
  deliveries,
}: SliceOverview): Static<typeof SliceOverviewSchema> => ({
  slice_key: slice.sliceKey,
  account_id: slice.accountId,
  checkout_id: slice.orders[0]!.checkoutId,
  created_at: timestamp(slice.createdAt),
  buyer: { name: slice.buyer.name || null, email: slice.buyer.email || null },
  address: slice.buyer.address && addressJson(slice.buyer.address),
  shipping: {
    method: slice.shipping.method,
    price: eurosFromCents(slice.shipping.cents),
    fulfilment: slice.shipping.fulfilment,
    tracked: slice.shipping.tracked,
  },
  rows: slice.orders.map(operatorOrderJson),
  disputes: disputes.map(disputeJson),
  shipment: shipment ? shipmentJson(shipment) : null,
  mails: mails?.map(operatorMailJson) ?? null,
  ledger: ledger.map(ledgerEntryJson),
  deliveries: deliveries?.map(deliveryJson) ?? null,
})

/** The postings of the sale and of the shipping, which is paid to the seller. */
const exampleLedger = [
  { id: 9005, kind: 'shipping', order_id: null, account: 'seller:12', amount: 6.95 },
  { id: 9004, kind: 'shipping', order_id: null, account: 'buyers', amount: -6.95 },
  { id: 9003, kind: 'sale', order_id: 501, account: 'commission', amount: 0.36 },
  { id: 9002, kind: 'sale', order_id: 501, account: 'seller:12', amount: 8.64 },
  { id: 9001, kind: 'sale', order_id: 501, account: 'buyers', amount: -9 },
].map((entry) => ({
  ...exampleEntry,
  ...entry,
  slice_key: exampleOperatorOrder.slice_key,
}))

export const exampleSliceOverview = {
  slice_key: exampleOperatorOrder.slice_key,
  account_id: 12,
  checkout_id: 77,
  created_at: '2026-03-01T09:30:00Z',
  buyer: exampleOperatorOrder.buyer,
  address: SAMPLE_ADDRESS,
  shipping: { method: 'Tracked parcel', price: 6.95, fulfilment: 'self_ship', tracked: true },
  rows: [exampleOperatorOrder],
  disputes: [],
  shipment: null,
  mails: [exampleOperatorMail],
  ledger: exampleLedger,
  deliveries: [],
}
