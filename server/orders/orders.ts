import type { Context } from '../context.ts'
import { ALL_SELLERS, changedSince, ordersBefore, placeOfPage } from '../database/counts.ts'
import { hasAddress } from '../database/has-address.ts'
import { type Page, readPage } from '../database/paging.ts'
import type { Db, Fragment } from '../database/sql.ts'
import { wholeRows } from '../database/whole-rows.ts'
import { OPEN_STATUSES, ORDER_STATUSES, type OrderStatus } from '../enums.ts'
import { endOfSecond } from '../time/storable-time.ts'
import { type Order, orderNotFound, type Tracking } from './order.ts'

export type OrderFilters = {
  status?: OrderStatus | undefined
  /** Created at or after this moment. */
  since?: Date | undefined
  /** Changed at or after this moment. The rows are then in the order of their changes. */
  updatedSince?: Date | undefined
}

/**
 * One page of a seller's order rows and the total (§4.11): newest first, or with `updatedSince` in the order of their
 * changes. Both orders are total.
 */
export function listOrders(
  ctx: Context,
  accountId: number,
  { status, since, updatedSince }: OrderFilters,
  page: Page,
): Promise<{ rows: Order[]; total: number }> {
  if (updatedSince === undefined) return readCountedPage(ctx, accountId, { status, since }, page)
  return readPage(ctx, page, (db) => {
    const isMatch = db`
      account_id = ${accountId}
      ${status === undefined ? db`` : db`and status = ${status}`}
      ${since === undefined ? db`` : db`and created_at >= ${since}`}
      and updated_at >= ${updatedSince}
    `
    const statuses = status === undefined ? ORDER_STATUSES : [status]
    return {
      total: db<{ total: number }[]>`
        ${
          since === undefined
            ? changedSince(db, 'orders', accountId, statuses, updatedSince)
            : db`select count(*) as total from orders where ${isMatch}`
        }
      `,
      rows: async ({ size, skipped, fromEnd }) => {
        const direction = fromEnd ? db`desc` : db``
        const order = db`o.updated_at ${direction}, o.id ${direction}`
        const rows = await wholeRows(db<OrderColumns[]>`
          select ${columns(db)}
          from (
            select id as page_id
            from orders o
            where ${isMatch}
            order by ${order}
            limit ${size}
            offset ${skipped}
          ) page
          join orders o on o.id = page_id
          ${joins(db)}
          order by ${order}
        `)
        return rows.map(orderFrom)
      },
    }
  })
}

export type AllOrdersFilters = {
  accountId?: number | undefined
  status?: OrderStatus | undefined
  /** In any casing. */
  buyerEmail?: string | undefined
  listingId?: number | undefined
  sliceKey?: string | undefined
  from?: Date | undefined
  /** Includes its second. */
  to?: Date | undefined
}

/** One page of the order rows of all sellers, newest first, and the total. */
export function listAllOrders(
  ctx: Context,
  { accountId, status, buyerEmail, listingId, sliceKey, from, to }: AllOrdersFilters,
  page: Page,
): Promise<{ rows: Order[]; total: number }> {
  if ((buyerEmail ?? listingId ?? sliceKey ?? to) === undefined) {
    return readCountedPage(ctx, accountId, { status, since: from }, page)
  }
  return readPage(ctx, page, (db) => {
    const isMatch = db`
      true
      ${accountId === undefined ? db`` : db`and account_id = ${accountId}`}
      ${status === undefined ? db`` : db`and status = ${status}`}
      ${
        listingId === undefined
          ? db``
          : db`
              and listing_id = ${listingId}
              and (
                -- Staff may want to cancel those of a listing that was taken down.
                status = any(${[...OPEN_STATUSES]}::text[])
                or not exists (select from removed_listings r where r.listing_id = ${listingId})
              )
            `
      }
      ${
        sliceKey === undefined
          ? db``
          : db`and slice_id = (select id from slices where slice_key = ${sliceKey})`
      }
      ${
        buyerEmail === undefined
          ? db``
          : db`
              and slice_id = any(
                array(
                  select id
                  from slices
                  where
                    checkout_id = any(
                      array(select id from checkouts where ${hasAddress(db, db`buyer_email`, buyerEmail)})
                    )
                )
              )
            `
      }
      ${from === undefined ? db`` : db`and created_at >= ${from}`}
      ${to === undefined ? db`` : db`and created_at < ${endOfSecond(to)}`}
    `
    return {
      total: db<{ total: number }[]>`select count(*) as total from orders where ${isMatch}`,
      rows: async ({ size, skipped, fromEnd }) => {
        const direction = fromEnd ? db`` : db`desc`
        const rows = await db<OrderColumns[]>`
          select ${columns(db)}
          from (
            select id as page_id
            from orders
            where ${isMatch}
            order by created_at ${direction}, id ${direction}
            limit ${size}
            offset ${skipped}
          ) page
          join orders o on o.id = page_id
          ${joins(db)}
          order by o.created_at ${direction}, o.id ${direction}
        `
        return rows.map(orderFrom)
      },
    }
  })
}

/**
 * A page without filters but the seller, the status and the first moment. The total and the position come from the counts
 * (docs/counts.md), so a page costs the same however many order rows there are.
 */
async function readCountedPage(
  { db }: Context,
  accountId: number | undefined,
  { status, since }: Pick<OrderFilters, 'status' | 'since'>,
  { offset, perPage }: Page,
): Promise<{ rows: Order[]; total: number }> {
  const account = accountId ?? ALL_SELLERS
  const statuses = status === undefined ? ORDER_STATUSES : [status]
  // `any` keeps `account_id` in the order (see readCountedPages): a small shop's rows are not searched among the newest of all.
  const isMatch: Fragment = db`
    ${accountId === undefined ? db`true` : db`account_id = any(array[${accountId}]::bigint[])`}
    ${status === undefined ? db`` : db`and status = ${status}`}
  `
  const newestFirst = db`
    order by ${accountId === undefined ? db`` : db`account_id desc,`} created_at desc, id desc
  `
  const isListed = db`${isMatch} ${since === undefined ? db`` : db`and created_at >= ${since}`}`
  const found = await wholeRows(db<(OrderColumns & { total: number })[]>`
    with place as materialized (
      select
        until,
        skipped_there,
        ${since === undefined ? db`total` : totalSince(db, account, statuses, isMatch, since)} as total
      from ${placeOfPage(db, 'orders', account, statuses, offset)}
    ),
    -- The rows before the page are skipped in the index alone.
    first as materialized (
      select created_at, id
      from orders
      where
        ${isListed}
        and created_at < coalesce(to_timestamp((select until from place)), 'infinity')
      ${newestFirst}
      limit 1
      offset (select skipped_there from place)
    ),
    page as materialized (
      select *
      from (
        select *
        from orders
        where
          ${isListed}
          and (created_at, id) <= ((select created_at from first), (select id from first))
        ${newestFirst}
        -- More than any page, and a constant: it tells the planner that there are few rows, which a parameter does not.
        limit 1000
      ) newest
      ${newestFirst}
      limit ${perPage}
    )
    select place.total, ${columns(db)}
    from place
    -- Outer joins, because a page past the end has a total as well.
    left join page o on true
    left join slices s on s.id = o.slice_id
    left join checkouts c on c.id = s.checkout_id
    order by o.created_at desc, o.id desc
  `)
  const rows = found.filter(({ id }) => id !== null)
  return { rows: rows.map(orderFrom), total: found[0]!.total }
}

/** The part of `total` that was created at or after `since`. */
function totalSince(
  db: Db,
  accountId: number,
  statuses: readonly OrderStatus[],
  isMatch: Fragment,
  since: Date,
) {
  const { count, start } = ordersBefore(db, accountId, statuses, since)
  return db`
    coalesce(
      total - ${count} - (
        select count(*)
        from orders
        where ${isMatch} and created_at >= ${start} and created_at < ${since}
      ),
      (select count(*) from orders where ${isMatch} and created_at >= ${since})
    )
  `
}

/** Reads the order rows with these ids that are the account's, in any order. */
export async function findOrders(
  { db }: { db: Db },
  accountId: number,
  ids: number[],
): Promise<Order[]> {
  if (ids.length === 0) return []
  const rows = await db<OrderColumns[]>`
    select ${columns(db)}
    from orders o
    ${joins(db)}
    where o.id = any(${ids}::bigint[]) and o.account_id = ${accountId}
  `
  return rows.map(orderFrom)
}

/** One order row. @throws not_found */
export async function getOrder({ db }: { db: Db }, id: number): Promise<Order> {
  const [row] = await db<OrderColumns[]>`
    select ${columns(db)} from orders o ${joins(db)} where o.id = ${id}
  `
  if (!row) throw orderNotFound()
  return orderFrom(row)
}

/**
 * The id of an order row's slice.
 *
 * @param accountId only a row of this account is found
 * @throws not_found
 */
export async function getSliceId(
  { db }: { db: Db },
  orderId: number,
  accountId?: number,
): Promise<number> {
  const [order] = await db<{ sliceId: number }[]>`
    select slice_id as "sliceId"
    from orders
    where id = ${orderId} ${accountId === undefined ? db`` : db`and account_id = ${accountId}`}
  `
  if (!order) throw orderNotFound()
  return order.sliceId
}

/** The joins of `columns`, from `orders o`. */
export const joins = (db: Db) => db`
  join slices s on s.id = o.slice_id
  join checkouts c on c.id = s.checkout_id
`

/** The columns of `OrderColumns`. */
export const columns = (db: Db) => db`
  o.id,
  o.slice_id as "sliceId",
  s.slice_key as "sliceKey",
  s.checkout_id as "checkoutId",
  o.account_id as "accountId",
  -- The reference to a removed listing is forgotten later (listings/remove-listings.ts).
  case
    when not exists (select from removed_listings r where r.listing_id = o.listing_id)
    then o.listing_id
  end as "listingId",
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
  coalesce(s.tracking_code, o.tracking_code) as "trackingCode",
  s.tracking_url as "trackingUrl",
  s.tracking_status as "trackingStatus",
  s.tracking_updated_at as "trackingUpdatedAt",
  o.cancelled_by as "cancelledBy",
  o.cancel_reason as "cancelReason",
  c.buyer_name as "buyerName",
  c.buyer_email as "buyerEmail",
  o.created_at as "createdAt",
  o.shipped_at as "shippedAt",
  o.received_at as "receivedAt",
  o.cancelled_at as "cancelledAt",
  o.disputed_at as "disputedAt",
  o.resolved_at as "resolvedAt",
  o.updated_at as "updatedAt"
`

/** A row of the database that `orderFrom` makes an order of. */
export type OrderColumns = Omit<Order, 'item' | 'tracking'> & {
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

/** Makes an order of a row. Each field is named, because copying the row with spread syntax takes five times as long. */
export const orderFrom = (row: OrderColumns): Order => ({
  id: row.id,
  sliceId: row.sliceId,
  sliceKey: row.sliceKey,
  checkoutId: row.checkoutId,
  accountId: row.accountId,
  listingId: row.listingId,
  status: row.status,
  quantity: row.quantity,
  priceCents: row.priceCents,
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
  commissionCents: row.commissionCents,
  refundedCents: row.refundedCents,
  fulfilment: row.fulfilment,
  tracking: isNotInParcel(row)
    ? NOT_TRACKED
    : {
        code: row.trackingCode,
        url: row.trackingUrl,
        status: row.trackingStatus,
        updatedAt: row.trackingUpdatedAt,
      },
  cancelledBy: row.cancelledBy,
  cancelReason: row.cancelReason,
  buyerName: row.buyerName,
  buyerEmail: row.buyerEmail,
  createdAt: row.createdAt,
  shippedAt: row.shippedAt,
  receivedAt: row.receivedAt,
  cancelledAt: row.cancelledAt,
  disputedAt: row.disputedAt,
  resolvedAt: row.resolvedAt,
  updatedAt: row.updatedAt,
})

/** Cancelled before the parcel was shipped: its tracking is not about this row. */
const isNotInParcel = ({ status, shippedAt }: Pick<Order, 'status' | 'shippedAt'>) =>
  status === 'cancelled' && shippedAt === null

const NOT_TRACKED: Tracking = { code: null, url: null, status: null, updatedAt: null }
