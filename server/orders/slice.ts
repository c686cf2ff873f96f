import type { Context } from '../context.ts'
import type { Db } from '../database/sql.ts'
import type { Fulfilment } from '../enums.ts'
import type { Address } from '../text/address.ts'
import { type Order, orderNotFound, type Tracking } from './order.ts'
import { ordersOfSlices, sliceIdOf } from './orders.ts'

/**
 * A seller's part of a checkout: the order rows of one seller, which ship to the buyer in one parcel (§2.8). A checkout
 * has one slice for each of its sellers.
 */
export type Slice = {
  id: number
  sliceKey: string
  accountId: number
  createdAt: Date
  orders: Order[]
  buyer: { name: string; email: string; address: Address | null }
  shipping: {
    method: string
    cents: number
    fulfilment: Fulfilment
    tracked: boolean
  }
  tracking: Tracking
}

/** The slice of an order row. @throws not_found unless the row is the account's */
export const getSlice = ({ begin }: Context, accountId: number, orderId: number): Promise<Slice> =>
  // One snapshot: otherwise a slice that ships meanwhile would have pending and shipped rows.
  begin(async (db) => readSlice({ db }, await sliceIdOf({ db }, accountId, orderId)), 'snapshot')

/** One slice. @throws not_found */
export async function readSlice(ctx: { db: Db }, id: number): Promise<Slice> {
  const [slice] = await readSlices(ctx, [id])
  if (!slice) throw orderNotFound()
  return slice
}

/** The slices with these ids, in the order of the ids. */
export async function readSlices({ db }: { db: Db }, ids: number[]): Promise<Slice[]> {
  const [rows, orders] = await Promise.all([
    db<SliceColumns[]>`
      select
        s.id,
        s.slice_key as "sliceKey",
        s.account_id as "accountId",
        s.created_at as "createdAt",
        s.shipping_method as method,
        s.shipping_cents as cents,
        s.fulfilment,
        s.tracked,
        s.tracking_code as code,
        s.tracking_url as url,
        s.tracking_status as status,
        s.tracking_updated_at as "updatedAt",
        c.buyer_name as name,
        c.buyer_email as email,
        c.address
      from slices s
      join checkouts c on c.id = s.checkout_id
      where s.id = any(${ids}::bigint[])
      order by array_position(${ids}::bigint[], s.id)
    `,
    ordersOfSlices({ db }, ids),
  ])
  const ordersBySlice = Map.groupBy(orders, ({ sliceId }) => sliceId)
  return rows.map((row) => {
    const { id, sliceKey, accountId, createdAt, name, email, address } = row
    const { method, cents, fulfilment, tracked, code, url, status, updatedAt } = row
    return {
      id,
      sliceKey,
      accountId,
      createdAt,
      orders: ordersBySlice.get(id) ?? [],
      buyer: { name, email, address },
      shipping: { method, cents, fulfilment, tracked },
      tracking: { code, url, status, updatedAt },
    }
  })
}

type SliceColumns = Pick<Slice, 'id' | 'sliceKey' | 'accountId' | 'createdAt'> &
  Slice['shipping'] &
  Slice['buyer'] &
  Tracking
