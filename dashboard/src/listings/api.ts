import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import { htmlLanguage } from '../../../server/enums.ts'
import type {
  BulkCreateRecord,
  BulkEditBody,
  BulkEditRecord,
  CatalogItemRecord,
  CheckedItemRecord,
  FoundItemsRecord,
  ListingRecord,
  ListingsRecord,
} from '../../../server/http/dashboard/listings.ts'
import type { MAX_FOUND } from '../../../server/listings/search-listings.ts'
import type { Data, Paginated } from '../api.ts'
import {
  ApiError,
  ConnectionError,
  get,
  isRefusal,
  patch,
  post,
  randomName,
  reservedMs,
} from '../client.ts'
import { queryClient } from '../query-client.ts'

/** `isKept`: the last read of the page no longer had it, but a value that was typed in its row is not saved. */
export type Listing = ListingRecord & { isKept?: true }

export const nameOf = ({ item, id }: Listing) => item?.name ?? `Listing ${id}`
export type CatalogItem = CatalogItemRecord

/** The `lang` of an item's name: it selects the glyphs, and the voice of a screen reader. English is that of the pages. */
export const langOf = (item: CatalogItem | null) =>
  item === null || item.language === null || item.language === 'EN'
    ? undefined
    : htmlLanguage(item.language)

export type Checked = CheckedItemRecord

/** The canonical id of a card, or the slug of a product. */
export const keyOf = ({ card, product }: CatalogItem) => (card ?? product)!

/** The details of an item, with its language or its key if another item has the same name and details. */
export function detailsOf(item: CatalogItem, all: CatalogItem[]): string {
  const { name, details, language } = item
  const alike = all.filter((other) => other.name === name && other.details === details)
  if (alike.length < 2) return details
  const isOnly = alike.filter((other) => other.language === language).length === 1
  return `${details} · ${isOnly && language !== null ? language : keyOf(item)}`
}

/** The seller's search. Both are empty for everything. */
export type Search = { q: string; status: string }

const FOUND_AT_MOST: typeof MAX_FOUND = 10_000

/** Whether more listings may match a search by text than it finds: it finds the newest 10,000. */
export const isCut = ({ q }: Search, total: number | undefined) =>
  q !== '' && total === FOUND_AT_MOST

export const LISTS = ['listings']

/** A page of a search. Rows with a value that is not saved stay on it when they have left it. */
export function useListings({ q, status }: Search, page: string) {
  const queryKey = [...LISTS, { q, status, page }]
  return useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      const list = await get<Paginated<Listing>>('listings', {
        query: { q, status, page },
        signal,
      })
      const shown = queryClient.getQueryData<Paginated<Listing>>(queryKey)?.data ?? []
      return { ...list, data: withDrafts(list.data, shown) }
    },
    placeholderData: (before) => before,
  })
}

/** The listings of the fields in the table whose value was typed and is not saved yet. */
const drafts = new Set<{ listing: number }>()

const hasDraft = (id: number) => [...drafts].some(({ listing }) => listing === id)

/** Each row with a draft that is gone follows the row that it has followed, so that no field moves and loses the focus. */
function withDrafts(rows: Listing[], shown: Listing[]): Listing[] {
  const all = [...rows]
  let next = 0
  for (const row of shown) {
    const index = all.findIndex(({ id }) => id === row.id)
    if (index >= 0) next = index + 1
    else if (hasDraft(row.id)) all.splice(next++, 0, { ...row, isKept: true })
  }
  return all
}

/** Keeps the row of a listing in the table while a value in it is not saved. Returns a function that ends it. */
export function keepRow(listing: number): () => void {
  const draft = { listing }
  drafts.add(draft)
  return () => {
    drafts.delete(draft)
    const isShown = ({ id, isKept }: Listing) => !isKept || hasDraft(id)
    queryClient.setQueriesData<Paginated<Listing>>({ queryKey: LISTS }, (list) =>
      list?.data.every(isShown) ? undefined : list && { ...list, data: list.data.filter(isShown) },
    )
  }
}

/**
 * The number of listings that a search finds now, the id of the newest (0 if it finds none), and the version of the catalog
 * that it used.
 */
export async function countListings({ q, status }: Search) {
  const { data, meta, catalog_version } = await get<ListingsRecord>('listings', {
    query: { q, status, per_page: 1 },
  })
  return { total: meta.total, newest: data[0]?.id ?? 0, catalog_version }
}

/**
 * A listing as it is now. Shows nothing that was read before: a form doesn't follow a later read. A key of each form's own
 * ensures it, because a form that opens again can precede the timer that removes the former read.
 */
export const useListing = (id: string) =>
  useQuery({
    queryKey: ['listing', id, useId()],
    queryFn: ({ signal }) => get<Data<Listing>>(`listings/${encodeURIComponent(id)}`, { signal }),
    select: ({ data }) => data,
    staleTime: 0,
    gcTime: 0,
  })

/**
 * The first items of the catalog that a text finds, and how many it has. They have the text that found them: the former one
 * until the current one has been searched.
 */
export const useCatalog = (q: string) =>
  useQuery({
    queryKey: ['catalog', q],
    queryFn: async ({ signal }) => {
      const { data, meta } = await get<FoundItemsRecord>('listings/catalog', {
        query: { q },
        signal,
      })
      return { data, total: meta.total, q }
    },
    enabled: q !== '',
    placeholderData: (before) => before,
    staleTime: 60_000,
  })

/** A value that is being typed: the one that was shown when that began, and the attempts to save it. */
export type Begun = Attempts & { shown: string }

/**
 * Changes a listing. A stock is sent as the difference to the one that was shown, so that units that are sold meanwhile
 * stay sold; 0 is sent as it is, because it puts none on sale. A stock that the service refuses is compared with the
 * current one next.
 *
 * @throws UnknownOutcomeError
 */
export async function changeListing(
  id: number,
  { quantity, ...changes }: { quantity?: number },
  begun?: Begun,
): Promise<Data<Listing>> {
  const path = `listings/${id}`
  if (!quantity || !begun) {
    return patch<Data<Listing>>(path, { ...changes, quantity }).catch((error) => {
      // A 0 may have been saved: another number can't be compared with the stock that was shown.
      if (quantity === 0 && begun && !isRefusal(error)) begun.sentAt = 0
      throw error
    })
  }
  try {
    return await attempt(begun, (idempotencyKey) => {
      const delta = quantity - Number(begun.shown)
      return patch(path, { ...changes, quantity_delta: delta }, { idempotencyKey })
    })
  } catch (error) {
    if (error instanceof ApiError && error.fields.quantity_delta) {
      const { data } = await get<Data<Listing>>(path, { isSave: true })
      begun.shown = String(data.quantity)
    }
    throw error
  }
}

export const createListings = (
  items: object[],
  idempotencyKey: string,
  options?: { isRepeated: boolean },
) => post<BulkCreateRecord>('listings', { items }, { idempotencyKey, ...options })

export const checkItems = (items: object[]) =>
  post<Data<Checked[]>>('listings/check', { items }, { isRepeated: true })

export const bulkEdit = (body: BulkEditBody, idempotencyKey: string) =>
  post<Data<BulkEditRecord>>('listings/bulk', body, { idempotencyKey, isRepeated: true })

const RETRY_MS = 2_000

/** Seconds to wait after a 429. A proxy can also send a date, 0 or a huge number, which don't count. */
const secondsAfter = ({ retryAfterS = 0 }: ApiError) =>
  retryAfterS > 0 && retryAfterS <= 3_600 ? retryAfterS : 5

/**
 * Repeats a call until the service has responded: after the time that it asks for if the limit of writes is used up, and
 * after a moment if the connection is lost. The call must carry an idempotency key, or change nothing.
 *
 * @param waiting called with the seconds of each wait
 */
export async function untilAnswered<T>(
  call: () => Promise<T>,
  signal: AbortSignal,
  waiting: (seconds: number) => void = () => {},
): Promise<T> {
  for (;;) {
    try {
      const result = await call()
      waiting(0)
      return result
    } catch (error) {
      const isLimited = error instanceof ApiError && error.status === 429
      if (!isLimited && !(error instanceof ConnectionError)) throw error
      const ms = isLimited ? 1000 * secondsAfter(error) : RETRY_MS
      waiting(Math.ceil(ms / 1000))
      await pause(ms, signal)
    }
  }
}

/**
 * Waits for the next window of the limit of writes if only the writes that are reserved for people are left: a long work
 * must not keep its member from other work.
 *
 * @param waiting called with the seconds of the wait
 * @param cost the number of writes that the next request counts as
 */
export async function leaveReservedWrites(
  signal: AbortSignal,
  waiting: (seconds: number) => void,
  cost = 1,
): Promise<void> {
  const ms = reservedMs(cost)
  if (ms === 0) return
  waiting(Math.ceil(ms / 1000))
  await pause(ms, signal)
}

/** The service forgets idempotency keys after 24 hours: an older call could take effect twice. */
const MAX_REPEAT_MS = 23 * 60 * 60 * 1000

/** A write may have taken effect, and is too old to be sent again, or to be sent with other content. */
export class UnknownOutcomeError extends Error {
  override name = 'UnknownOutcomeError'
  override message = 'An earlier attempt may have been saved.'
}

/** A person's attempts to make one change, with one idempotency key, and `sentAt` as in `writeOnce`. */
export type Attempts = { key: string; sentAt: number | null }

export const newAttempts = (): Attempts => ({ key: randomName(), sentAt: null })

/** Makes another attempt. @throws UnknownOutcomeError */
export const attempt = <T>(attempts: Attempts, call: (key: string) => Promise<T>): Promise<T> =>
  writeOnce(
    () => call(attempts.key),
    attempts.sentAt,
    (sentAt) => {
      attempts.sentAt = sentAt
    },
  )

/**
 * Sends a write, if the service still knows the idempotency key of an earlier attempt.
 *
 * @param sentAt when the write was sent first (Unix milliseconds); null as long as it can't have taken effect
 * @param keep called with `sentAt` before the attempt, and after a refusal; the attempt waits for it
 * @throws UnknownOutcomeError
 */
async function writeOnce<T>(
  call: () => Promise<T>,
  sentAt: number | null,
  keep: (sentAt: number | null) => unknown,
): Promise<T> {
  if (sentAt !== null && Date.now() - sentAt > MAX_REPEAT_MS) throw new UnknownOutcomeError()
  await keep(sentAt ?? Date.now())
  return call().catch(async (error) => {
    if (isRefusal(error)) {
      // A refused attempt had no effect, but an earlier one may have had one.
      await keep(sentAt)
      // An earlier attempt had other content.
      if (error.fields['Idempotency-Key']) throw new UnknownOutcomeError()
    }
    throw error
  })
}

/** Repeats `writeOnce` until the service has responded. @throws UnknownOutcomeError */
export function untilWritten<T>(
  call: () => Promise<T>,
  sentAt: number | null,
  keep: (sentAt: number | null) => unknown,
  signal: AbortSignal,
  waiting: (seconds: number) => void,
): Promise<T> {
  const keepHere = (next: number | null) => {
    sentAt = next
    return keep(next)
  }
  return untilAnswered(() => writeOnce(call, sentAt, keepHere), signal, waiting)
}

/** Waits, and rejects when the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    if (signal.aborted) return stop()
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal.addEventListener('abort', stop, { once: true })
  })
}
