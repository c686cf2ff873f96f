import type { Context } from '../context.ts'
import { getSlice, type Slice } from '../orders/slice.ts'
import { labelUrl } from './label-link.ts'

/** A slice with the label that was bought for it, if any (§2.8). */
export type LabeledSlice = Slice & { label: SliceLabel | null }

export type SliceLabel = {
  /** The carrier platform. */
  provider: string
  /** Whether the PDF is available. */
  hasLabel: boolean
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
  const [shipment] = await ctx.db<
    {
      provider: string
      hasLabel: boolean
      labelName: string
      nonce: string
      expiresAt: Date | null
    }[]
  >`
    select
      provider,
      status = 'ready' as "hasLabel",
      label_name as "labelName",
      link_nonce as nonce,
      link_expires_at as "expiresAt"
    from shipments
    where slice_id = ${slice.id} and state = 'bought'
  `
  if (!shipment) return { ...slice, label: null }
  const { provider, hasLabel, labelName, nonce, expiresAt } = shipment
  const link = expiresAt && expiresAt > ctx.now() ? { nonce, expiresAt } : null
  return {
    ...slice,
    label: {
      provider,
      hasLabel,
      labelUrl: link && labelUrl(ctx, labelName, link),
      expiresAt: link?.expiresAt ?? null,
    },
  }
}
