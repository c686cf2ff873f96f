import type { CardstallError } from './errors.ts'
import { type EventOptions, followEvents, isPassing, pause } from './events.ts'
import { listsOf } from './list.ts'
import { listings } from './listings.ts'
import { labelRequest } from './orders.ts'
import {
  type Options,
  type Request,
  requestData,
  secretOnce,
  type Transport,
  writeOnce,
} from './transport.ts'
import type {
  AnswerDisputeBody,
  ApiKey,
  CancelOwnOrderBody,
  Change,
  CheckedItem,
  CreateOwnKeyBody,
  Delivery,
  Dispute,
  GetPackingQuery,
  Holiday,
  LabelResult,
  ListingChange,
  ListingChangesResult,
  ListingDeletionsResult,
  ListingTarget,
  ListOwnDeliveriesQuery,
  ListOwnDisputesQuery,
  ListOwnListingsQuery,
  ListOwnOrdersQuery,
  ListOwnPayoutsQuery,
  ListOwnReviewsQuery,
  OwnListing,
  OwnListingItem,
  OwnOrder,
  OwnShippingOption,
  Packing,
  PageLinks,
  PageMeta,
  Payout,
  ReplaceShippingOptionsBody,
  Review,
  Statement,
} from './types.ts'
import type { WebhookEvent } from './webhooks.ts'

export type ChangesPage = { data: Change[]; next: string; has_more: boolean }

/** A key and its secret, which is in no other response. */
export type NewOwnKey = { data: ApiKey; key: string }

export type PackingPage = { data: Packing; links: PageLinks; meta: PageMeta }

/** Changes since a cursor. `cursor()` follows the last page that was read completely: store it with the changes. */
export type ChangeFeed = AsyncIterable<Change> & { cursor(): string }

const MAX_WAIT_S = 30
/** The service resends a million deliveries in about a minute. */
const RESEND_TIMEOUT_MS = 240_000

/** The tools API: everything about the shop that the seller API leaves out. */
export function tools(transport: Transport) {
  const send: Transport = (method, path, request) =>
    transport(method, path, { ...request, api: 'tools/v1' })
  const list = listsOf(send)
  const dataOf = <T>(method: string, path: string, request?: Request) =>
    requestData<T>(send, method, path, request)
  const bodyOf = async <T>(method: string, path: string, request?: Request): Promise<T> =>
    (await send<T>(method, path, request)).body
  const changes = (
    query: { cursor?: string | undefined; wait?: number | undefined } = {},
    options?: Options,
  ): Promise<ChangesPage> => {
    const timeoutMs = options?.timeoutMs ?? (query.wait ? (query.wait + 30) * 1000 : undefined)
    return bodyOf<ChangesPage>('GET', '/changes', { ...options, timeoutMs, query })
  }
  const writeItems = async <T>(path: string, items: unknown[], options?: Options): Promise<T> =>
    (await writeOnce<T>(send, path, { items }, options)).body

  const { create, createAll } = listings<OwnListingItem>(send)

  return {
    listings: {
      list: list<OwnListing, ListOwnListingsQuery>('/listings'),

      get: (id: number, options?: Options) => dataOf<OwnListing>('GET', `/listings/${id}`, options),

      /** Lists 1 to 100 items, each with an optional reference. */
      create,

      /** `listings.createAll`, with an optional reference for each item. */
      createAll,

      /**
       * Checks 1 to 500 items as `create` would, and lists nothing. To list the card that it found, `create` it as
       * `item.card`, without `language_hint`.
       */
      check: (items: OwnListingItem[], options?: Options) =>
        dataOf<CheckedItem[]>('POST', '/listings/checks', {
          ...options,
          body: { items },
          retry: 'safe',
        }),

      /** Changes 1 to 1,000 listings. Each succeeds or fails on its own. */
      changeMany: (items: ListingChange[], options?: Options) =>
        writeItems<ListingChangesResult>('/listings/changes', items, options),

      /** Deletes 1 to 1,000 listings. Each succeeds or fails on its own. */
      deleteMany: (items: ListingTarget[], options?: Options) =>
        writeItems<ListingDeletionsResult>('/listings/deletions', items, options),
    },

    orders: {
      list: list<OwnOrder, ListOwnOrdersQuery>('/orders'),

      /** Cancels a pending row. The buyer is refunded and gets an e-mail. */
      cancel: (id: number, cancellation: CancelOwnOrderBody, options?: Options) =>
        dataOf<OwnOrder>('POST', `/orders/${id}/cancel`, { ...options, body: cancellation }),

      /** A page of the pick list and the packing slips. */
      packing: (query?: GetPackingQuery, options?: Options) =>
        bodyOf<PackingPage>('GET', '/orders/packing', { ...options, query }),

      /** The same as a page to print. */
      packingPage: (query?: GetPackingQuery, options?: Options) =>
        bodyOf<string>('GET', '/orders/packing', { ...options, query, accept: 'text/html' }),
    },

    labels: {
      /** Buys or reads the labels of 1 to 50 orders. Each succeeds or fails on its own. */
      buy: (orders: number[], options?: Options) =>
        dataOf<LabelResult[]>('POST', '/labels', {
          ...labelRequest(options),
          body: { orders },
        }),

      /** One PDF of the labels to print, and the orders without one: not ready, or cancelled. */
      async merge(
        orders: number[],
        options?: Options,
      ): Promise<{ pdf: Uint8Array; missing: number[] }> {
        const { body, headers } = await send<Uint8Array>('POST', '/labels', {
          ...labelRequest(options),
          body: { orders, merge: true },
          // An error is JSON.
          accept: 'application/pdf, application/json',
        })
        const missing = headers.get('x-missing-labels')?.split(',').map(Number) ?? []
        return { pdf: body, missing }
      },
    },

    disputes: {
      list: list<Dispute, ListOwnDisputesQuery>('/disputes'),

      /** Answers the dispute about an order, once. The buyer gets the message by e-mail. */
      answer: (order: number, answer: AnswerDisputeBody, options?: Options) =>
        dataOf<Dispute>('POST', `/orders/${order}/dispute/answer`, { ...options, body: answer }),
    },

    reviews: {
      list: list<Review, ListOwnReviewsQuery>('/reviews'),

      /** Replies in public. A further reply replaces the first. */
      reply: (id: number, text: string, options?: Options) =>
        dataOf<Review>('POST', `/reviews/${id}/reply`, {
          ...options,
          body: { text },
          retry: 'safe',
        }),
    },

    payouts: {
      list: list<Payout, ListOwnPayoutsQuery>('/payouts'),
    },

    statements: {
      /** @param month `2026-03` */
      get: (month: string, options?: Options) =>
        dataOf<Statement>('GET', `/statements/${encodeURIComponent(month)}`, options),

      csv: (month: string, options?: Options) =>
        bodyOf<string>('GET', `/statements/${encodeURIComponent(month)}`, {
          ...options,
          accept: 'text/csv',
        }),
    },

    deliveries: {
      list: list<Delivery, ListOwnDeliveriesQuery>('/deliveries'),

      /** Attempts a delivery once more. */
      resend: (id: number, options?: Options) =>
        dataOf<Delivery>('POST', `/deliveries/${id}/resend`, options),
    },

    webhooks: {
      /** Resends what an endpoint missed in a period, and returns the number of deliveries. */
      async resend(
        id: number,
        { from, to }: { from: Date | string; to: Date | string },
        options?: Options,
      ): Promise<number> {
        const timeoutMs = options?.timeoutMs ?? RESEND_TIMEOUT_MS
        const request = { ...options, timeoutMs, body: { from, to } }
        const path = `/webhooks/${id}/resend`
        return (await dataOf<{ deliveries: number }>('POST', path, request)).deliveries
      },

      /** Sends a test event to one endpoint. */
      test: (id: number, event: WebhookEvent['event'], options?: Options) =>
        dataOf<Delivery>('POST', `/webhooks/${id}/test`, { ...options, body: { event } }),

      /** Returns a new secret. The former one signs as well for 24 hours: `verify` accepts both. */
      rotateSecret: (id: number, options?: Options) =>
        secretOnce(send, `/webhooks/${id}/rotate-secret`, undefined, options),
    },

    events: {
      /** Sends a sample event to your endpoints. In the sandbox only. */
      send: (event: WebhookEvent['event'], options?: Options) =>
        dataOf<{ event: string; deliveries: number }>('POST', '/events', {
          ...options,
          body: { event },
        }),

      /**
       * Follows your events and their resends until `signal` is aborted, without gaps: iterate, handle each event, and then
       * store `cursor()`. Without a cursor it begins now.
       */
      follow: (cursor?: string, options?: EventOptions) => followEvents(send, cursor, options),
    },

    shippingOptions: {
      list: (options?: Options) => dataOf<OwnShippingOption[]>('GET', '/shipping-options', options),

      /** Replaces all shipping options. */
      replace: (
        shippingOptions: ReplaceShippingOptionsBody['shipping_options'],
        options?: Options,
      ) =>
        dataOf<OwnShippingOption[]>('PUT', '/shipping-options', {
          ...options,
          body: { shipping_options: shippingOptions },
          retry: 'safe',
        }),
    },

    key: {
      /** Creates a key. The client must have the access token of a device login as its key, which then ends. */
      create: (input: CreateOwnKeyBody, options?: Options) =>
        bodyOf<NewOwnKey>('POST', '/key', { ...options, body: input }),

      /** Revokes the client's own key. */
      async revoke(options?: Options): Promise<void> {
        // A repetition would be refused, because the key is gone.
        await send('DELETE', '/key', { ...options, retry: 'unsent' })
      },
    },

    holiday: {
      get: (options?: Options) => dataOf<Holiday>('GET', '/holiday', options),

      /** Begins or ends a holiday. Afterwards, no order is placed until it ends. */
      set: (on: boolean, options?: Options) =>
        dataOf<Holiday>('PUT', '/holiday', { ...options, body: { on }, retry: 'safe' }),
    },

    /** One page of the change feed. Without a cursor, `next` is where the feed is now. */
    changes,

    /**
     * Follows the change feed until `signal` is aborted: iterate, apply each change, and store `cursor()` with it. Without
     * a cursor it begins now. It waits while the service cannot be reached.
     */
    follow(cursor?: string, options?: Options): ChangeFeed {
      let position = cursor
      const signal = options?.signal
      async function* read() {
        while (!signal?.aborted) {
          try {
            const query = { cursor: position, wait: position && MAX_WAIT_S }
            const { data, next } = await changes(query as object, options)
            yield* data
            position = next
          } catch (error) {
            if (!signal?.aborted && !isPassing(error)) throw error
            await pause((error as CardstallError | null)?.retryAfter, signal)
          }
        }
      }
      return {
        [Symbol.asyncIterator]: read,
        cursor: () => {
          if (position === undefined) throw new Error('Read the feed first.')
          return position
        },
      }
    },
  }
}
