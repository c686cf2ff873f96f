import Type, { type Static } from 'typebox'
import type { PackedRow, Packing, PackingSlip, PickLine } from '../../orders/packing.ts'
import type { Address } from '../../text/address.ts'
import { timestamp } from '../../time/timestamp.ts'
import { component, Nullable, Timestamp } from '../schema.ts'
import { AddressSchema, addressJson } from './address.ts'
import { exampleOrder, orderFields, orderItemJson } from './order.ts'
import { exampleSlice } from './slice.ts'

const reference = Nullable(Type.String(), { description: 'Your own name of the listing' })
const listingId = Nullable(Type.Integer(), {
  description: 'null after the listing has been deleted',
})

const PickLineSchema = component(
  'PickLine',
  Type.Object(
    {
      item: orderFields.item,
      listing_id: listingId,
      reference,
      quantity: Type.Integer({ description: 'Units for all orders together' }),
      orders: Type.Array(Type.Integer(), { description: 'The order rows that need it' }),
    },
    { description: 'An item to take from your stock.' },
  ),
)

const PackingSlipSchema = component(
  'PackingSlip',
  Type.Object(
    {
      slice_key: Type.String(),
      created_at: Timestamp(),
      buyer: Type.Object({
        name: Type.String(),
        address: Type.Unsafe<Address | null>({ anyOf: [AddressSchema, { type: 'null' }] }),
      }),
      shipping_method: Type.String(),
      orders: Type.Array(
        Type.Object({
          id: Type.Integer(),
          item: orderFields.item,
          listing_id: listingId,
          reference,
          quantity: Type.Integer(),
        }),
        { description: 'The rows to pack' },
      ),
    },
    { description: 'The content of one parcel.' },
  ),
)

export const PackingSchema = Type.Object({
  shop_name: Type.String(),
  pick_list: Type.Array(PickLineSchema, {
    description: 'The items of all slips together, by set and number',
  }),
  slips: Type.Array(PackingSlipSchema, { description: 'One slip for each parcel' }),
})

export const packingJson = ({
  shopName,
  pickList,
  slips,
}: Packing): Static<typeof PackingSchema> => ({
  shop_name: shopName,
  pick_list: pickList.map(pickLineJson),
  slips: slips.map(slipJson),
})

const pickLineJson = ({ item, listingId, reference, units, orderIds }: PickLine) => ({
  item: orderItemJson(item),
  listing_id: listingId,
  reference,
  quantity: units,
  orders: orderIds,
})

const slipJson = ({ sliceKey, createdAt, buyer, shipping, orders }: PackingSlip) => ({
  slice_key: sliceKey,
  created_at: timestamp(createdAt),
  buyer: { name: buyer.name, address: buyer.address && addressJson(buyer.address) },
  shipping_method: shipping.method,
  orders: orders.map(packedRowJson),
})

const packedRowJson = ({ id, item, listingId, reference, quantity }: PackedRow) => ({
  id,
  item: orderItemJson(item),
  listing_id: listingId,
  reference,
  quantity,
})

const exampleRow = {
  item: exampleOrder.item,
  listing_id: exampleOrder.listing_id,
  reference: 'SHELF-4-118',
  quantity: exampleOrder.quantity,
}

export const examplePacking = {
  shop_name: 'Kanto Cards',
  pick_list: [{ ...exampleRow, orders: [exampleOrder.id] }],
  slips: [
    {
      slice_key: exampleOrder.slice_key,
      created_at: exampleOrder.created_at,
      buyer: exampleSlice.buyer,
      shipping_method: exampleSlice.shipping.method,
      orders: [{ id: exampleOrder.id, ...exampleRow }],
    },
  ],
}
