import type { Context } from '../context.ts'
import { type Page, windowOf } from '../database/paging.ts'
import { compareNumbered } from '../text/formats.ts'
import { orderNotFound, type SoldItem } from './order.ts'
import { readSlices, type Slice } from './slice.ts'

/** The documents for packing: a list for picking the items from the stock, and a slip for each parcel. */
export type Packing = {
  shopName: string
  timeZone: string
  pickList: PickLine[]
  slips: PackingSlip[]
}

/** An item to pick, for all of its orders. */
export type PickLine = {
  item: SoldItem
  listingId: number | null
  /** The seller's own name of the listing. */
  reference: string | null
  units: number
  orderIds: number[]
}

/** A parcel. Its rows are those to pack, with the seller's references. */
export type PackingSlip = Omit<Slice, 'orders'> & { orders: PackedRow[] }

export type PackedRow = {
  id: number
  item: SoldItem
  listingId: number | null
  reference: string | null
  quantity: number
}

/** The statuses of rows that a seller packs: waiting, or marked as shipped before the parcel was packed. */
export const PACKED_STATUSES = ['pending', 'shipped'] as const
export type PackedStatus = (typeof PACKED_STATUSES)[number]

/** Parcels that are printed at once. The page of so many slips has about a megabyte. */
export const MAX_PRINTED = 1_000

/** A page of the slices with rows in this status, oldest first, as documents for packing. */
export function readPacking(
  { begin }: Context,
  accountId: number,
  status: PackedStatus,
  page: Page,
): Promise<{ packing: Packing; total: number }> {
  return begin(async (db) => {
    const [counted] = await db<{ total: number }[]>`
      select count(distinct slice_id) as total
      from orders
      where account_id = ${accountId} and status = ${status}
    `
    const total = counted?.total ?? 0
    const window = windowOf(page, total)
    const slices = window
      ? await db<{ id: number }[]>`
          -- One level, because PostgreSQL plans a DISTINCT inside a sorted SELECT for all of its rows.
          select distinct created_at, slice_id as id
          from orders
          where account_id = ${accountId} and status = ${status}
          order by ${window.fromEnd ? db`created_at desc, id desc` : db`created_at, id`}
          limit ${window.size}
          offset ${window.skipped}
        `
      : []
    const ids = slices.map(({ id }) => id)
    if (window?.fromEnd) ids.reverse()
    return { packing: await packingOf({ db }, accountId, ids, [status]), total }
  }, 'snapshot')
}

/**
 * Documents for packing the slices of these rows, in their order. A slice is packed once, however many of its rows are
 * named, and left out if it has nothing to pack.
 *
 * @throws not_found unless every row is the account's
 */
export function readPackingOf(
  { begin }: Context,
  accountId: number,
  orderIds: number[],
): Promise<Packing> {
  return begin(async (db) => {
    const rows = await db<{ sliceId: number }[]>`
      select slice_id as "sliceId"
      from orders
      where id = any(${orderIds}::bigint[]) and account_id = ${accountId}
      order by array_position(${orderIds}::bigint[], id)
    `
    if (rows.length < new Set(orderIds).size) throw orderNotFound()
    const ids = [...new Set(rows.map(({ sliceId }) => sliceId))]
    return packingOf({ db }, accountId, ids, PACKED_STATUSES)
  }, 'snapshot')
}

async function packingOf(
  { db }: { db: Context['db'] },
  accountId: number,
  sliceIds: number[],
  statuses: readonly string[],
): Promise<Packing> {
  const slices = await readSlices({ db }, sliceIds)
  const orderIds = slices.flatMap(({ orders }) => orders.map(({ id }) => id))
  const [[account], references] = await Promise.all([
    db<{ shopName: string; timeZone: string }[]>`
      select shop_name as "shopName", time_zone as "timeZone" from accounts where id = ${accountId}
    `,
    db<{ id: number; reference: string }[]>`
      -- Open orders refer to a listing that was taken down as well, although they show no id of it.
      select o.id, l.reference
      from orders o
      join listings l on l.id = o.listing_id
      where o.id = any(${orderIds}::bigint[]) and l.reference is not null
    `,
  ])
  const referenceOf = new Map(references.map(({ id, reference }) => [id, reference]))
  const slips = slices
    .map((slice) => ({
      ...slice,
      orders: slice.orders
        .filter(({ status }) => statuses.includes(status))
        .map(({ id, item, listingId, quantity }) => ({
          id,
          item,
          listingId,
          reference: referenceOf.get(id) ?? null,
          quantity,
        })),
    }))
    .filter(({ orders }) => orders.length > 0)
  return { ...account!, pickList: pickListOf(slips), slips }
}

/** Adds the rows of the same listing up, in the order of sets and names, in which sellers sort their stock. */
function pickListOf(slips: { orders: PackedRow[] }[]): PickLine[] {
  const rows = slips.flatMap(({ orders }) => orders)
  const same = Map.groupBy(rows, ({ listingId, reference, item }) =>
    JSON.stringify([listingId, listingId === null && [reference, item]]),
  )
  const picks = [...same.values()].map((rows) => ({
    item: rows[0]!.item,
    listingId: rows[0]!.listingId,
    reference: rows[0]!.reference,
    units: rows.reduce((sum, { quantity }) => sum + quantity, 0),
    orderIds: rows.map(({ id }) => id),
  }))
  return picks.sort((a, b) => compareNumbered(sortKey(a), sortKey(b)))
}

/** `Brilliant Stars 9` comes before `Brilliant Stars 18`. */
const sortKey = ({ item: { subtitle, name, condition, language } }: PickLine) =>
  [subtitle, name, condition, language].map((part) => part ?? '').join(' ')
