import { buffer } from 'node:stream/consumers'
import type { Context } from '../context.ts'
import { ApiError, conflict, providerError } from '../errors.ts'
import type { FileStore } from '../files/file-store.ts'
import { orderNotFound } from '../orders/order.ts'
import { limitConcurrency } from '../queue/limit-concurrency.ts'
import { type Label, labelPath } from './label.ts'
import { restoreLabel } from './label-file.ts'
import { type LabeledSlice, readLabeledSlices, readLabels } from './labeled-slice.ts'
import { buyLabel } from './labels.ts'
import type { ShippingContext } from './purchase.ts'

/** Labels of one call. */
export const MAX_LABELS = 50

/** Purchases of one call at the same time: the carrier should not refuse them as a flood. */
const CONCURRENCY = 4

/**
 * Real time during which a call starts purchases and fetches lost files. With a slow carrier, 50 purchases would outlast
 * the timeouts of clients and proxies. One takes up to 70 seconds (four requests of 15 s to the carrier, after 10 s for
 * another call's purchase), so a call takes up to 130.
 */
const START_WITHIN_MS = 60_000

/**
 * The label of one order of a call, or the error that the same request for this order alone would get. An order whose
 * purchase was not started in time has a `provider_error`, too.
 */
export type LabelResult = { orderId: number } & (
  | { label: Label; slice: LabeledSlice; error?: undefined }
  | { error: ApiError }
)

/**
 * Buys or reads the labels of several orders (labels.ts). Each succeeds or fails on its own. Rows of one slice share one
 * purchase: a call for each would wait for the first, and keep other purchases from starting.
 */
export async function buyLabels(
  ctx: ShippingContext,
  account: { id: number; payoutVerified: boolean },
  orderIds: number[],
  { startWithinMs = START_WITHIN_MS } = {},
): Promise<LabelResult[]> {
  const sliceOf = await sliceIdsOf(ctx, account.id, orderIds)
  const limit = limitConcurrency(CONCURRENCY)
  const deadline = performance.now() + startWithinMs
  const buyInTime = async (orderId: number) => {
    if (performance.now() >= deadline) throw notStarted()
    return buyLabel(ctx, { account, orderId })
  }
  const purchases = new Map<number | undefined, ReturnType<typeof buyInTime>>()
  const bought = await Promise.allSettled(
    orderIds.map((orderId) => {
      const sliceId = sliceOf.get(orderId)
      const purchase = (sliceId && purchases.get(sliceId)) || limit(() => buyInTime(orderId))
      purchases.set(sliceId, purchase)
      return purchase
    }),
  )
  const sliceIds = bought.flatMap((outcome) =>
    outcome.status === 'fulfilled' ? outcome.value.sliceId : [],
  )
  const slices = new Map(
    (await readLabeledSlices(ctx, [...new Set(sliceIds)])).map((slice) => [slice.id, slice]),
  )
  return bought.map((outcome, index) => {
    const orderId = orderIds[index]!
    if (outcome.status === 'fulfilled') {
      const label = outcome.value
      return { orderId, label, slice: slices.get(label.sliceId)! }
    }
    if (outcome.reason instanceof ApiError) return { orderId, error: outcome.reason }
    throw outcome.reason
  })
}

/** The slices of those rows that are the account's. */
async function sliceIdsOf(
  { db }: Context,
  accountId: number,
  orderIds: number[],
): Promise<Map<number, number>> {
  const rows = await db<{ id: number; sliceId: number }[]>`
    select id, slice_id as "sliceId"
    from orders
    where id = any(${orderIds}::bigint[]) and account_id = ${accountId}
  `
  return new Map(rows.map(({ id, sliceId }) => [id, sliceId]))
}

const notStarted = () =>
  providerError(
    'The carrier is slow: there was no time left for this label. Request it again; nothing is bought twice.',
  )

/** Labels are small; a carrier that sends larger files must not fill the memory. */
const MAX_MERGED_BYTES = 32 * 1024 * 1024

/** Reading and writing PDFs takes CPU time and memory, so that one is merged at a time. */
const oneAtATime = limitConcurrency(1)

/**
 * Merges the stored labels of several orders into one PDF, in the order given. A slice's label is printed once. Lost files
 * are fetched from the carrier again, as by the label's link. The labels of cancelled orders are left out: the seller would
 * send these parcels with the others.
 *
 * @returns the PDF, and the orders whose label is not in it
 * @throws not_found unless every row is the account's, conflict if no label is to be printed or all together are too large,
 *   provider_error if the files of all labels are lost
 */
export async function mergeLabels(
  ctx: ShippingContext,
  accountId: number,
  orderIds: number[],
  { fetchUntil = fetchDeadline(), hasCover = false }: MergeOptions = {},
): Promise<{ pdf: Uint8Array; missing: number[] }> {
  const sliceOf = await sliceIdsOf(ctx, accountId, orderIds)
  if (orderIds.some((id) => !sliceOf.has(id))) throw orderNotFound()
  const sliceIds = [...new Set(orderIds.map((id) => sliceOf.get(id)!))]
  const labels = await readLabels(ctx, sliceIds)
  const names = new Map(
    sliceIds.flatMap((id) => {
      const label = labels.get(id)
      return label?.status === 'ready' && !label.isCancelled ? [[id, label.labelName]] : []
    }),
  )
  const missingIn = (printed: Set<number>) =>
    orderIds.filter((id) => !printed.has(sliceOf.get(id)!))
  const mergeStored = () => oneAtATime(() => merge(ctx, names, hasCover ? missingIn : () => []))
  let merged = await mergeStored()
  if (merged.lost.length > 0) {
    // Other calls can merge meanwhile.
    const limit = limitConcurrency(CONCURRENCY)
    const fetchInTime = async (name: string) => {
      if (performance.now() < fetchUntil) await restoreLabel(ctx, name)
    }
    await Promise.all(merged.lost.map((name) => limit(() => fetchInTime(name))))
    merged = await mergeStored()
  }
  const { pdf, printed, lost } = merged
  if (printed.size === 0) {
    throw lost.length > 0
      ? providerError(
          'The files of these labels are missing, and could not be fetched from the carrier. Try again later.',
        )
      : conflict('None of these orders has a label to print.')
  }
  return { pdf, missing: missingIn(printed) }
}

type MergeOptions = {
  /** When to stop fetching lost files, as `performance.now()`. */
  fetchUntil?: number
  /** Whether a first page names the orders whose label is missing, for people who print the PDF. */
  hasCover?: boolean
}

/** The end of the time in which a call that begins now fetches lost files. */
export const fetchDeadline = (): number => performance.now() + START_WITHIN_MS

async function merge(
  { files, log }: Context & { files: FileStore },
  labelNames: Map<number, string>,
  ordersOnCover: (printed: Set<number>) => number[],
): Promise<{ pdf: Uint8Array; printed: Set<number>; lost: string[] }> {
  // Loaded on first use, because it would add a tenth of a second to every start.
  const { PDFDocument, StandardFonts } = await import('@pdfme/pdf-lib')
  const merged = await PDFDocument.create()
  const printed = new Set<number>()
  const lost: string[] = []
  let bytes = 0
  for (const [sliceId, labelName] of labelNames) {
    const file = await files.get(labelPath(`${labelName}.pdf`))
    if (!file) {
      lost.push(labelName)
      continue
    }
    const content = await buffer(file.stream)
    bytes += content.length
    if (bytes > MAX_MERGED_BYTES) {
      throw conflict('These labels are too large for one PDF. Request fewer at once.')
    }
    try {
      const label = await PDFDocument.load(content, { updateMetadata: false })
      for (const page of await merged.copyPages(label, label.getPageIndices())) merged.addPage(page)
      printed.add(sliceId)
    } catch (error) {
      log.warn({ err: error, slice: sliceId }, 'cannot read a stored label')
    }
  }
  const named = ordersOnCover(printed)
  if (named.length > 0) {
    const font = await merged.embedFont(StandardFonts.Helvetica)
    merged.insertPage(0, [COVER.width, COVER.height]).drawText(coverText(named), {
      ...COVER.text,
      font,
      maxWidth: COVER.width - 2 * COVER.text.x,
    })
  }
  return { pdf: await merged.save(), printed, lost }
}

/** A page of the size of a usual label (A6), in points. */
const COVER = { width: 298, height: 420, text: { x: 24, y: 380, size: 12, lineHeight: 16 } }

const coverText = (orders: number[]) =>
  `No label in this PDF for ${orders.length === 1 ? 'order' : 'orders'} ${orders.join(', ')}. Open each order in the dashboard to see why.`
