import type { StoredFile } from '../files/file-store.ts'
import { labelPath } from './label.ts'
import { discardErased, type LabelReading, type ShippingContext, storeLabel } from './purchase.ts'
import { readShipment } from './shipments.ts'

/**
 * The file of a label. One that was stored and is lost, because the storage was restored from an older backup, is
 * fetched from the carrier again.
 *
 * @param file its name in the storage
 */
export async function labelFile(
  ctx: ShippingContext,
  file: string,
): Promise<StoredFile | undefined> {
  const stored = await ctx.files.get(labelPath(file))
  if (stored) return stored
  await restoreLabel(ctx, file.replace('.pdf', ''))
  return ctx.files.get(labelPath(file))
}

/** Stores the file of a ready label again, if the carrier still has it. */
export async function restoreLabel(ctx: ShippingContext, labelName: string): Promise<void> {
  const [lost] = await ctx.db<{ sliceId: number }[]>`
    select slice_id as "sliceId" from shipments where label_name = ${labelName}
  `
  const shipment = lost && (await readShipment(ctx, lost.sliceId))
  const { carrier } = ctx
  if (shipment?.status !== 'ready' || carrier?.provider !== shipment.provider) return
  const reading: LabelReading = { id: shipment.carrierId, status: 'ready', message: null }
  const stored = await storeLabel(ctx, carrier, reading, labelName, {
    isCalled: true,
    failure: 'cannot fetch a lost label',
  })
  await discardErased(ctx, stored, await readShipment(ctx, lost!.sliceId))
}
