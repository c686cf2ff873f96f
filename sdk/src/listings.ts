import { listOf, listsOf } from './list.ts'
import { type Options, requestData, sleep, type Transport, writeOnce } from './transport.ts'
import type {
  BulkCreateResult,
  ChangeListingBody,
  Listing,
  ListingItem,
  ListListingsQuery,
} from './types.ts'

export type BulkResult = BulkCreateResult['results'][number]

/** The numbers so far; `total` only if the items are an array. `warnings` is about the account, as in a bulk create. */
export type Progress = {
  sent: number
  created: number
  failed: number
  total?: number
  warnings?: string[] | undefined
}

/** A change since the bookmark; `next()` is the bookmark of the next call, valid after the last record. */
export type ListingChanges = AsyncIterable<Listing> & { next(): string }

const MAX_ITEMS = 100
/** A change becomes visible at most 10 seconds after its `updated_at`; see the guide "Sync". */
const OVERLAP_MS = 30_000

/** `Item` has more fields if `send` sends to the tools API. */
export const listings = <Item extends ListingItem>(send: Transport) => ({
  list: listsOf(send)<Listing, ListListingsQuery>('/listings'),

  /** Lists 1 to 100 items. Each succeeds or fails on its own. */
  async create(items: Item[], options?: Options): Promise<BulkCreateResult> {
    return (await writeOnce<BulkCreateResult>(send, '/listings', { items }, options)).body
  },

  /**
   * Lists any number of items in batches of 100, at the pace of the write limit. `index` counts across the batches. With
   * an `idempotencyKey`, the same items in the same order can be sent again within 24 hours without listing any twice.
   * This API ignores a `reference`: `tools.listings.createAll` lists items with their references.
   */
  async *createAll(
    items: Iterable<Item> | AsyncIterable<Item>,
    {
      onProgress,
      idempotencyKey = crypto.randomUUID(),
      ...options
    }: Options & { onProgress?: ((progress: Progress) => void) | undefined } = {},
  ): AsyncGenerator<BulkResult, void, undefined> {
    const progress: Progress = { sent: 0, created: 0, failed: 0 }
    if (Array.isArray(items)) progress.total = items.length
    for await (const batch of batchesOf(items)) {
      const { body, headers } = await writeOnce<BulkCreateResult>(
        send,
        '/listings',
        { items: batch },
        { ...options, idempotencyKey: `${idempotencyKey}-${progress.sent}` },
      )
      for (const result of body.results) yield { ...result, index: progress.sent + result.index }
      progress.sent += batch.length
      progress.created += body.created
      progress.failed += body.failed
      progress.warnings = body.warnings
      onProgress?.({ ...progress })
      const isLast = batch.length < MAX_ITEMS || progress.sent === progress.total
      if (!isLast) await limitLeft(headers, options.signal)
    }
  },

  update: (id: number, change: ChangeListingBody, options?: Options) =>
    requestData<Listing>(send, 'PATCH', `/listings/${id}`, {
      ...options,
      body: change,
      // A unit may be sold between a lost response and its repetition, which would put it back on sale.
      retry: change.quantity === undefined ? 'safe' : 'limited',
    }),

  async delete(id: number, options?: Options): Promise<void> {
    await send('DELETE', `/listings/${id}`, options)
  },

  /**
   * The listings that changed since a bookmark, none of them missed: store each by its id, then store `next()`. See the
   * guide "Sync".
   */
  changes(since: Date | string, options?: Options): ListingChanges {
    let newest: string | undefined
    async function* read() {
      const pageOf = (page: number) => {
        const query = { updated_since: since, per_page: 100, page }
        return listOf<Listing>(send, '/listings', query, options)
      }
      let page = await pageOf(1)
      if (page.meta.last_page > 1) page = await pageOf(page.meta.last_page)
      // From the last page to the first: a listing that changes meanwhile moves to the end, and the others move towards
      // us, never past us.
      for (;;) {
        newest ??= page.data.at(-1)?.updated_at
        yield* page.data
        if (page.links.prev === null) return
        page = await pageOf(page.meta.current_page - 1)
      }
    }
    return {
      [Symbol.asyncIterator]: read,
      next() {
        if (newest !== undefined) return new Date(Date.parse(newest) - OVERLAP_MS).toISOString()
        // A text stays as it is: without an offset it is UTC for the API, and local time for `Date`.
        return typeof since === 'string' ? since : since.toISOString()
      },
    }
  },
})

async function* batchesOf<T>(items: Iterable<T> | AsyncIterable<T>): AsyncGenerator<T[]> {
  let batch: T[] = []
  for await (const item of items) {
    batch.push(item)
    if (batch.length === MAX_ITEMS) {
      yield batch
      batch = []
    }
  }
  if (batch.length > 0) yield batch
}

/** Waits for the next window if the write limit of this one is used up. */
async function limitLeft(headers: Headers, signal: AbortSignal | undefined): Promise<void> {
  if (headers.get('x-ratelimit-remaining') !== '0') return
  const resetAt = Number(headers.get('x-ratelimit-reset')) * 1000
  await sleep(Math.min(Math.max(resetAt - Date.now(), 0), 60_000), signal)
}
