import type { Context } from '../context.ts'
import type { Db } from '../database/sql.ts'
import { wholeRows } from '../database/whole-rows.ts'
import type { Fulfilment } from '../enums.ts'
import { conflict } from '../errors.ts'
import type { Address } from '../text/address.ts'
import { type Order, orderNotFound, type Tracking } from './order.ts'
import { columns, joins, type OrderColumns, orderFrom } from './orders.ts'

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

/** One slice. @throws not_found */
export async function readSlice({ db }: { db: Db }, id: number): Promise<Slice> {
  const rows = await wholeRows(db<SliceRow[]>`
    select ${columns(db)}, ${sliceColumns(db)}
    from orders o
    ${joins(db)}
    where o.slice_id = ${id}
    order by o.id
  `)
  return sliceOf(rows)
}

/** The slices with these ids, in the order of the ids. */
export async function readSlices({ db }: { db: Db }, ids: number[]): Promise<Slice[]> {
  const rows = await wholeRows(db<SliceRow[]>`
    select ${columns(db)}, ${sliceColumns(db)}
    from orders o
    ${joins(db)}
    where o.slice_id = any(${ids}::bigint[])
    order by o.slice_id, o.id
  `)
  const bySlice = Map.groupBy(rows, ({ sliceId }) => sliceId)
  return [...new Set(ids)].filter((id) => bySlice.has(id)).map((id) => sliceOf(bySlice.get(id)!))
}

/** An order row with the columns of its slice. */
export type SliceRow = OrderColumns & {
  sliceCreatedAt: Date
  shippingMethod: string
  shippingCents: number
  tracked: boolean
  /** Without the code of the order row itself. */
  sliceTrackingCode: string | null
  address: Address | null
}

/**
 * The columns of a SliceRow in addition to those of the order row. One statement reads all rows of a slice: its snapshot
 * never shows pending and shipped rows of a slice that ships meanwhile.
 */
export const sliceColumns = (db: Db) => db`
  s.created_at as "sliceCreatedAt",
  s.shipping_method as "shippingMethod",
  s.shipping_cents as "shippingCents",
  s.tracked,
  s.tracking_code as "sliceTrackingCode",
  c.address
`

/** Makes a slice of all its rows. @throws not_found if there are none */
export function sliceOf(rows: SliceRow[]): Slice {
  const [row] = rows
  if (!row) throw orderNotFound()
  return {
    id: row.sliceId,
    sliceKey: row.sliceKey,
    accountId: row.accountId,
    createdAt: row.sliceCreatedAt,
    orders: rows.map(orderFrom),
    buyer: { name: row.buyerName, email: row.buyerEmail, address: row.address },
    shipping: {
      method: row.shippingMethod,
      cents: row.shippingCents,
      fulfilment: row.fulfilment,
      tracked: row.tracked,
    },
    tracking: {
      code: row.sliceTrackingCode,
      url: row.trackingUrl,
      status: row.trackingStatus,
      updatedAt: row.trackingUpdatedAt,
    },
  }
}

/**
 * Refuses a text of or to a buyer whose data was erased, because nothing would erase it. The caller holds the slice's lock.
 *
 * @throws conflict
 */
export async function requireUnerasedBuyer({ db }: Context, sliceId: number): Promise<void> {
  const [erased] = await db`
    select 1
    from slices s
    join checkouts c on c.id = s.checkout_id
    where s.id = ${sliceId} and c.erased_at is not null
  `
  if (erased) throw buyerErased()
}

/** The error about a text of or to a buyer whose data was erased. */
export const buyerErased = () =>
  conflict('The buyer’s data was erased, so no text of or to the buyer is stored.')
