import type { Context } from '../context.ts'
import { ApiError, conflict, providerError } from '../errors.ts'
import { orderNotFound } from '../orders/order.ts'
import { type BudgetShare, byteBudget } from '../queue/byte-budget.ts'
import { limitConcurrency } from '../queue/limit-concurrency.ts'
import { orAborted } from '../time/or-aborted.ts'
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
 * the timeouts of clients and proxies. One takes up to 80 seconds (four requests of 15 s to the carrier and 10 s for the
 * storage, after 10 s for another call's purchase), so a call takes up to 130.
 */
const START_WITHIN_MS = 50_000
/** Real time after that during which a call reads files. It leaves 15 of its 130 seconds for the PDF. */
const READ_AFTER_MS = 65_000

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

/** Memory for the files of all calls of this process: a usual call needs some megabytes. */
const openMemory = byteBudget(4 * MAX_MERGED_BYTES)

/**
 * Parsing and writing PDFs takes CPU time and memory, so that one is merged at a time. Files are read outside of it:
 * otherwise a slow storage would let all sellers wait for one.
 */
const oneAtATime = limitConcurrency(1)

/**
 * Merges the stored labels of several orders into one PDF, in the order given. A slice's label is printed once. Lost files
 * are fetched from the carrier again, as by the label's link. Those that can't be read, or not in time, are left out, so
 * that one of them doesn't withhold the others. The labels of cancelled orders are left out: the seller would send these
 * parcels with the others.
 *
 * @returns the PDF, and the orders whose label is not in it
 * @throws not_found unless every row is the account's, conflict if no label is to be printed or all together are too large,
 *   provider_error if the files of all labels are lost or can't be read
 */
export async function mergeLabels(
  ctx: ShippingContext,
  accountId: number,
  orderIds: number[],
  {
    fetchUntil = fetchDeadline(),
    readUntil = fetchUntil + READ_AFTER_MS,
    hasCover = false,
    signal: gone = new AbortController().signal,
  }: MergeOptions = {},
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
  return afterOthersOf(accountId, async () => {
    const timeout = AbortSignal.timeout(Math.max(0, Math.ceil(readUntil - performance.now())))
    const ended = AbortSignal.any([gone, timeout])
    const memory = openMemory()
    try {
      const files = await readFiles(ctx, names, { ended, gone, fetchUntil, memory })
      const { pdf, printed } = await oneAtATime(async () => {
        if (gone.aborted) throw noFiles()
        return merge(ctx, files, hasCover ? missingIn : () => [])
      })
      if (printed.size === 0) {
        throw files.size < names.size
          ? noFiles()
          : conflict('None of these orders has a label to print.')
      }
      return { pdf, missing: missingIn(printed) }
    } finally {
      memory.close()
    }
  })
}

const noFiles = () =>
  providerError(
    'The files of these labels are missing or cannot be read, and could not be fetched from the carrier. Try again later.',
  )

type MergeOptions = {
  /** When to stop fetching lost files, as `performance.now()`. */
  fetchUntil?: number
  /** When to stop reading files, as `performance.now()`. */
  readUntil?: number
  /** Aborted when the client has disconnected. */
  signal?: AbortSignal
  /** Whether a first page names the orders whose label is missing, for people who print the PDF. */
  hasCover?: boolean
}

/** The end of the time in which a call that begins now fetches lost files. */
export const fetchDeadline = (): number => performance.now() + START_WITHIN_MS

/**
 * Calls whose files are in memory or being read, by account. With a slow storage, a client that repeats its call would hold
 * as many times 32 MB.
 */
const running = new Map<number, Promise<unknown>>()

/** Runs the task after the earlier ones of the account. */
async function afterOthersOf<T>(accountId: number, task: () => Promise<T>): Promise<T> {
  const result = (running.get(accountId) ?? Promise.resolve()).then(task)
  const end = result.catch(() => {})
  running.set(accountId, end)
  try {
    return await result
  } finally {
    if (running.get(accountId) === end) running.delete(accountId)
  }
}

/**
 * The stored labels by slice, without those that can't be read. Lost ones are fetched from the carrier first.
 *
 * @param options.ended aborted at the end of the time for reading, or with `gone`, when nobody waits any more
 * @throws conflict if all together are too large
 */
async function readFiles(
  ctx: ShippingContext,
  names: Map<number, string>,
  {
    ended,
    gone,
    fetchUntil,
    memory,
  }: { ended: AbortSignal; gone: AbortSignal; fetchUntil: number; memory: BudgetShare },
): Promise<Map<number, Buffer>> {
  const limit = limitConcurrency(CONCURRENCY)
  let bytes = 0
  const read = async (name: string) => {
    const file = await ctx.files.get(labelPath(`${name}.pdf`), ended)
    if (!file) return undefined
    const chunks: Buffer[] = []
    for await (const chunk of file.stream) {
      bytes += chunk.length
      if (bytes > MAX_MERGED_BYTES) {
        throw conflict('These labels are too large for one PDF. Request fewer at once.')
      }
      await memory.take(chunk.length)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }
  const readOrFetch = async (name: string) => {
    ended.throwIfAborted()
    const file = await orAborted(read(name), ended)
    if (file || performance.now() >= fetchUntil) return file
    await restoreLabel(ctx, name)
    ended.throwIfAborted()
    return orAborted(read(name), ended)
  }
  const found = await Promise.all(
    [...names].map(([slice, name]) =>
      limit(() => readOrFetch(name)).then(
        (file) => [slice, file] as const,
        (error) => {
          if (error instanceof ApiError) throw error
          if (!gone.aborted) ctx.log.warn({ err: error, slice }, 'cannot read a stored label')
          return [slice, undefined] as const
        },
      ),
    ),
  )
  return new Map(found.flatMap(([slice, file]) => (file ? [[slice, file]] : [])))
}

async function merge(
  { log }: Context,
  files: Map<number, Buffer>,
  ordersOnCover: (printed: Set<number>) => number[],
): Promise<{ pdf: Uint8Array; printed: Set<number> }> {
  // Loaded on first use, because it would add a tenth of a second to every start.
  const { PDFDocument, StandardFonts } = await import('@pdfme/pdf-lib')
  const merged = await PDFDocument.create()
  const printed = new Set<number>()
  for (const [sliceId, content] of files) {
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
  return { pdf: await merged.save(), printed }
}

/** A page of the size of a usual label (A6), in points. */
const COVER = { width: 298, height: 420, text: { x: 24, y: 380, size: 12, lineHeight: 16 } }

const coverText = (orders: number[]) =>
  `No label in this PDF for ${orders.length === 1 ? 'order' : 'orders'} ${orders.join(', ')}. Open each order in the dashboard to see why.`
