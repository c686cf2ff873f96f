import type { Context } from '../context.ts'
import type { LabelStatus } from '../enums.ts'
import { getSlice, readSlices, type Slice } from '../orders/slice.ts'
import { labelUrl } from './label-link.ts'

/** A slice with the label that was bought for it, if any (§2.8). */
export type LabeledSlice = Slice & { label: SliceLabel | null }

export type SliceLabel = {
  /** The carrier platform. */
  provider: string
  status: Exclude<LabelStatus, 'self_ship'>
  /** Explanation of the status for the seller. */
  message: string | null
  boughtAt: Date
  /** Name of the PDF in the storage, without its ending. */
  labelName: string
  /** The link that was minted last, null once it has expired. */
  labelUrl: string | null
  expiresAt: Date | null
}

/** Reads the slice that an account's order row belongs to. @throws not_found */
export const getLabeledSlice = async (
  ctx: Context,
  accountId: number,
  orderId: number,
): Promise<LabeledSlice> => withLabel(ctx, await getSlice(ctx, accountId, orderId))

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
  const shipments = await ctx.db<
    (Omit<SliceLabel, 'labelUrl'> & { sliceId: number; nonce: string })[]
  >`
    select
      slice_id as "sliceId",
      provider,
      status,
      message,
      bought_at as "boughtAt",
      label_name as "labelName",
      link_nonce as nonce,
      link_expires_at as "expiresAt"
    from shipments
    where slice_id = any(${sliceIds}::bigint[]) and state = 'bought'
  `
  return new Map(
    shipments.map(({ sliceId, nonce, ...shipment }) => {
      const { labelName, expiresAt } = shipment
      const link = expiresAt && expiresAt > ctx.now() ? { nonce, expiresAt } : null
      return [
        sliceId,
        {
          ...shipment,
          labelUrl: link && labelUrl(ctx, labelName, link),
          expiresAt: link?.expiresAt ?? null,
        },
      ]
    }),
  )
}
