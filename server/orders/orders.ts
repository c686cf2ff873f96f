import type { Context } from '../context.ts'
import { type Page, windowOf } from '../database/paging.ts'
import type { Db } from '../database/sql.ts'
import type { OrderStatus } from '../enums.ts'
import { type Order, orderNotFound, type Tracking } from './order.ts'

export type OrderFilters = {
  status?: OrderStatus | undefined
  /** Created at or after this moment. */
  since?: Date | undefined
}

/** One page of a seller's orders, newest first, and how many there are (§4.11). */
export async function listOrders(
  ctx: Context,
  accountId: number,
  { status, since }: OrderFilters,
  page: Page,
): Promise<{ rows: Order[]; total: number }> {
  const values: (string | number | Date)[] = [accountId]
  const conditions = ['account_id = $1']
  if (status !== undefined) conditions.push(`status = $${values.push(status)}`)
  if (since !== undefined) conditions.push(`created_at >= $${values.push(since)}`)
  const where = conditions.join(' and ')
  return ctx.begin(async (db) => {
    const [counted] = await db.unsafe<{ total: number }[]>(
      `select count(*) as total from orders where ${where}`,
      values,
      { prepare: true },
    )
    const total = counted?.total ?? 0
    const stretch = windowOf(page, total)
    if (!stretch) return { rows: [], total }
    const { size, skipped, fromEnd } = stretch
    const [limit, offset] = [1, 2].map((nth) => `$${values.length + nth}`)
    const rows = await db.unsafe<OrderColumns[]>(
      `
        select ${COLUMNS}
        from (
          select id as page_id
          from orders
          where ${where}
          order by ${fromEnd ? 'created_at, id' : 'created_at desc, id desc'}
          limit ${limit} offset ${offset}
        ) page
        join orders o on o.id = page_id
        ${JOINS}
        order by o.created_at desc, o.id desc
      `,
      [...values, size, skipped],
      { prepare: true },
    )
    return { rows: rows.map(orderFrom), total }
  }, 'snapshot')
}

/** Every row of a slice, oldest first. */
export async function ordersOfSlice({ db }: { db: Db }, sliceId: number): Promise<Order[]> {
  const rows = await db.unsafe<OrderColumns[]>(
    `select ${COLUMNS} from orders o ${JOINS} where o.slice_id = $1 order by o.id`,
    [sliceId],
    { prepare: true },
  )
  return rows.map(orderFrom)
}

/** @throws not_found without such a row */
export async function getOrder({ db }: { db: Db }, id: number): Promise<Order> {
  const [row] = await db.unsafe<OrderColumns[]>(
    `select ${COLUMNS} from orders o ${JOINS} where o.id = $1`,
    [id],
    { prepare: true },
  )
  if (!row) throw orderNotFound()
  return orderFrom(row)
}

/** The slice that an account's order row belongs to. @throws not_found when it's nobody's or another's */
export async function sliceIdOf(
  { db }: { db: Db },
  accountId: number,
  orderId: number,
): Promise<number> {
  const [order] = await db<{ sliceId: number }[]>`
    select slice_id as "sliceId" from orders where id = ${orderId} and account_id = ${accountId}
  `
  if (!order) throw orderNotFound()
  return order.sliceId
}

const JOINS = `
  join slices s on s.id = o.slice_id
  join checkouts c on c.id = s.checkout_id
`

const COLUMNS = `
  o.id,
  o.slice_id as "sliceId",
  s.slice_key as "sliceKey",
  s.checkout_id as "checkoutId",
  o.account_id as "accountId",
  o.listing_id as "listingId",
  o.status,
  o.quantity,
  o.price_cents as "priceCents",
  o.item_type as "itemType",
  o.item_id as "itemId",
  o.item_friendly_id as "itemFriendlyId",
  o.item_name as "itemName",
  o.item_subtitle as "itemSubtitle",
  o.item_image as "itemImage",
  o.item_condition as "itemCondition",
  o.item_language as "itemLanguage",
  o.commission_cents as "commissionCents",
  o.refunded_cents as "refundedCents",
  s.fulfilment,
  coalesce(o.tracking_code, s.tracking_code) as "trackingCode",
  s.tracking_url as "trackingUrl",
  s.tracking_status as "trackingStatus",
  s.tracking_updated_at as "trackingUpdatedAt",
  o.cancelled_by as "cancelledBy",
  c.buyer_name as "buyerName",
  o.created_at as "createdAt",
  o.shipped_at as "shippedAt",
  o.received_at as "receivedAt",
  o.cancelled_at as "cancelledAt",
  o.disputed_at as "disputedAt"
`

type OrderColumns = Omit<Order, 'item' | 'tracking'> & {
  itemType: Order['item']['type']
  itemId: string | null
  itemFriendlyId: string | null
  itemName: string | null
  itemSubtitle: string | null
  itemImage: string | null
  itemCondition: Order['item']['condition']
  itemLanguage: Order['item']['language']
  trackingCode: string | null
  trackingUrl: string | null
  trackingStatus: string | null
  trackingUpdatedAt: Date | null
}

const orderFrom = (row: OrderColumns): Order => ({
  ...row,
  item: {
    type: row.itemType,
    id: row.itemId,
    friendlyId: row.itemFriendlyId,
    name: row.itemName,
    subtitle: row.itemSubtitle,
    image: row.itemImage,
    condition: row.itemCondition,
    language: row.itemLanguage,
  },
  tracking: isLeftOut(row)
    ? NOT_TRACKED
    : {
        code: row.trackingCode,
        url: row.trackingUrl,
        status: row.trackingStatus,
        updatedAt: row.trackingUpdatedAt,
      },
})

/** Cancelled before the parcel left: whatever is heard of that isn't about this row. */
const isLeftOut = ({ status, shippedAt }: Pick<Order, 'status' | 'shippedAt'>) =>
  status === 'cancelled' && shippedAt === null

const NOT_TRACKED: Tracking = { code: null, url: null, status: null, updatedAt: null }
