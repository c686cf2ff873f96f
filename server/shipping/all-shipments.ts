import type { Context } from '../context.ts'
import { ALL_SELLERS, placeOfPage } from '../database/counts.ts'
import { type Page, readPage } from '../database/paging.ts'
import type { Db } from '../database/sql.ts'
import type { BoughtLabelStatus } from '../enums.ts'
import { hasRowsToShip, NOT_NEEDED, VOID } from './shipments.ts'

/** A shipment as the operator sees it, also while it is being bought. */
export type AnyShipment = {
  sliceId: number
  sliceKey: string
  accountId: number
  /** The row that the label was requested for. */
  orderId: number
  provider: string
  state: 'buying' | 'bought'
  /** null until it is bought. */
  status: BoughtLabelStatus | null
  message: string | null
  carrierId: string | null
  trackingCode: string | null
  lines: number
  createdAt: Date
  boughtAt: Date | null
}

export type ShipmentFilters = { accountId?: number | undefined; sliceKey?: string | undefined }

/** One page of shipments, newest first, and the total. */
export const listShipments = (
  ctx: Context,
  { accountId, sliceKey }: ShipmentFilters,
  page: Page,
): Promise<{ rows: AnyShipment[]; total: number }> =>
  readPage(ctx, page, (db) => {
    const matching = db`
      from shipments sh
      join slices s on s.id = sh.slice_id
      where
        ${isShipment(db)}
        ${accountId === undefined ? db`` : db`and s.account_id = ${accountId}`}
        ${sliceKey === undefined ? db`` : db`and s.slice_key = ${sliceKey}`}
    `
    const account = accountId ?? ALL_SELLERS
    return {
      total:
        sliceKey === undefined
          ? db<{ total: number }[]>`
              select total from ${placeOfPage(db, 'shipments', account, ['listed'], 0)}
            `
          : db<{ total: number }[]>`select count(*) as total ${matching}`,
      rows: ({ size, skipped, fromEnd, isShort }) => {
        const direction = fromEnd ? db`` : db`desc`
        return db<AnyShipment[]>`
          select *
          from (
            select ${columns(db)}
            ${matching}
            -- A seller's few shipments are found by the seller.
            ${isShort && accountId !== undefined ? db`offset 0` : db``}
          ) listed
          order by "createdAt" ${direction}, "sliceId" ${direction}
          limit ${size}
          offset ${skipped}
        `
      },
    }
  })

/** The shipment of a slice, also while it is being bought. */
export async function shipmentOf(
  { db }: Pick<Context, 'db'>,
  sliceId: number,
): Promise<AnyShipment | undefined> {
  const [shipment] = await db<AnyShipment[]>`
    select ${columns(db)}
    from shipments sh
    join slices s on s.id = sh.slice_id
    where sh.slice_id = ${sliceId} and ${isShipment(db)}
  `
  return shipment
}

/** The shipments of slices, newest first. */
export const shipmentsOf = (
  { db }: Pick<Context, 'db'>,
  sliceIds: number[],
): Promise<AnyShipment[]> => db<AnyShipment[]>`
  select ${columns(db)}
  from shipments sh
  join slices s on s.id = sh.slice_id
  where sh.slice_id = any(${sliceIds}::bigint[]) and ${isShipment(db)}
  order by sh.slice_id desc
`

/** SQL condition: bought or being bought. The row of a purchase that the carrier refused is kept for the next one. */
const isShipment = (db: Db) => db`(sh.state = 'bought' or sh.in_doubt)`

const columns = (db: Db) => db`
  sh.slice_id as "sliceId",
  s.slice_key as "sliceKey",
  s.account_id as "accountId",
  sh.order_id as "orderId",
  sh.provider,
  sh.state,
  sh.status,
  case
    when not sh.is_void then sh.message
    when ${hasRowsToShip(db, db`sh.slice_id`)} then ${VOID}::text
    else ${NOT_NEEDED}::text
  end as message,
  sh.carrier_id as "carrierId",
  s.tracking_code as "trackingCode",
  sh.lines,
  sh.created_at as "createdAt",
  sh.bought_at as "boughtAt"
`
