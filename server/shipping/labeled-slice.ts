import type { Context } from '../context.ts'
import type { Db } from '../database/sql.ts'
import { wholeRows } from '../database/whole-rows.ts'
import type { BoughtLabelStatus } from '../enums.ts'
import { columns, joins } from '../orders/orders.ts'
import { readSlices, type Slice, type SliceRow, sliceColumns, sliceOf } from '../orders/slice.ts'
import { labelUrl } from './label-link.ts'
import { hasRowsToShip, isCancelled, messageShown } from './shipments.ts'

/** A slice with the label that was bought for it, if any (§2.8). */
export type LabeledSlice = Slice & { label: SliceLabel | null }

export type SliceLabel = {
  /** The carrier platform. */
  provider: string
  status: BoughtLabelStatus
  /** Explanation of the status for the seller. */
  message: string | null
  /** Whether the shipment was cancelled at the carrier. */
  isVoid: boolean
  /** Whether every row is cancelled: the label must not be used. */
  isCancelled: boolean
  boughtAt: Date
  /** Name of the PDF in the storage, without its ending. */
  labelName: string
  /** The link that was minted last, null once it has expired. */
  labelUrl: string | null
  expiresAt: Date | null
}

/** Reads the slice that an account's order row belongs to. @throws not_found */
export async function getLabeledSlice(
  ctx: Context,
  accountId: number,
  orderId: number,
): Promise<LabeledSlice> {
  const { db } = ctx
  const rows = await wholeRows(db<(SliceRow & Partial<LabelColumns>)[]>`
    select ${columns(db)}, ${sliceColumns(db)}, ${labelColumns(db)}
    from orders o
    ${joins(db)}
    left join shipments on shipments.slice_id = o.slice_id and shipments.state = 'bought'
    where
      o.slice_id = (select slice_id from orders where id = ${orderId} and account_id = ${accountId})
    order by o.id
  `)
  const slice = sliceOf(rows)
  const [{ provider } = {}] = rows
  return { ...slice, label: provider ? labelFrom(ctx, rows[0] as LabelColumns) : null }
}

/** Adds the label to a slice that has been read already. */
export async function withLabel(ctx: Context, slice: Slice): Promise<LabeledSlice> {
  const labels = await readLabels(ctx, [slice.id])
  return { ...slice, label: labels.get(slice.id) ?? null }
}

/** The slices with these ids and their labels. */
export async function readLabeledSlices(ctx: Context, ids: number[]): Promise<LabeledSlice[]> {
  const [slices, labels] = await Promise.all([readSlices(ctx, ids), readLabels(ctx, ids)])
  return slices.map((slice) => ({ ...slice, label: labels.get(slice.id) ?? null }))
}

/** The labels of these slices, by the slice's id. */
export async function readLabels(
  ctx: Context,
  sliceIds: number[],
): Promise<Map<number, SliceLabel>> {
  const shipments = await ctx.db<(LabelColumns & { sliceId: number })[]>`
    select slice_id as "sliceId", ${labelColumns(ctx.db)}
    from shipments
    where slice_id = any(${sliceIds}::bigint[]) and state = 'bought'
  `
  return new Map(shipments.map((row) => [row.sliceId, labelFrom(ctx, row)]))
}

/** A bought row of `shipments`. */
type LabelColumns = {
  provider: string
  labelStatus: SliceLabel['status']
  labelMessage: string | null
  isVoid: boolean
  hasRowsToShip: boolean
  isCancelled: boolean
  labelBoughtAt: Date
  labelName: string
  labelNonce: string | null
  labelExpiresAt: Date | null
}

const labelColumns = (db: Db) => db`
  shipments.provider,
  shipments.status as "labelStatus",
  shipments.message as "labelMessage",
  shipments.is_void as "isVoid",
  ${hasRowsToShip(db, db`shipments.slice_id`)} as "hasRowsToShip",
  ${isCancelled(db, db`shipments.slice_id`)} as "isCancelled",
  shipments.bought_at as "labelBoughtAt",
  shipments.label_name as "labelName",
  shipments.link_nonce as "labelNonce",
  shipments.link_expires_at as "labelExpiresAt"
`

function labelFrom(ctx: Context, row: LabelColumns): SliceLabel {
  const { labelName, labelNonce: nonce, labelExpiresAt: expiresAt } = row
  const link = nonce && expiresAt && expiresAt > ctx.now() ? { nonce, expiresAt } : null
  return {
    provider: row.provider,
    status: row.labelStatus,
    message: messageShown({ ...row, status: row.labelStatus, message: row.labelMessage }),
    isVoid: row.isVoid,
    isCancelled: row.isCancelled,
    boughtAt: row.labelBoughtAt,
    labelName,
    labelUrl: link && labelUrl(ctx, labelName, link),
    expiresAt: link?.expiresAt ?? null,
  }
}
