import { listsOf } from './list.ts'
import { type Options, type Request, requestData, sleep, type Transport } from './transport.ts'
import type { Label, ListOrdersQuery, Order, OrderSlice, ShippedOrderSlice } from './types.ts'

const LABEL_POLL_MS = 2_000
/** Longer than a response with several labels takes, or with one of a slow carrier. */
const LABELS_TIMEOUT_MS = 150_000

export const labelRequest = (options: Options = {}): Request => ({
  ...options,
  timeoutMs: options.timeoutMs ?? LABELS_TIMEOUT_MS,
  // A label is never bought twice.
  retry: 'safe',
})

export function orders(send: Transport) {
  const list = listsOf(send)<Order, ListOrdersQuery>('/orders')

  const get = (id: number, options?: Options) =>
    requestData<OrderSlice>(send, 'GET', `/orders/${id}`, options)

  /** Buys the label of the order's slice, or reads the one that was bought: a label is never bought twice. */
  const buyLabel = (id: number, options?: Options) =>
    requestData<Label>(send, 'POST', `/orders/${id}/label`, labelRequest(options))

  return {
    list,
    get,
    buyLabel,

    /** The slices of these orders, each once. */
    async *slices(
      query?: ListOrdersQuery,
      options?: Options,
    ): AsyncGenerator<OrderSlice, void, undefined> {
      const seen = new Set<string>()
      for await (const { id, slice_key } of list(query, options)) {
        if (seen.has(slice_key)) continue
        seen.add(slice_key)
        yield await get(id, options)
      }
    },

    /** Buys the label and waits while it is `processing`, for at most `untilMs` (default: 60,000). */
    async waitForLabel(
      id: number,
      { untilMs = 60_000, ...options }: Options & { untilMs?: number | undefined } = {},
    ): Promise<Label> {
      const deadline = Date.now() + untilMs
      for (;;) {
        const label = await buyLabel(id, options)
        if (label.status !== 'processing' || Date.now() + LABEL_POLL_MS > deadline) return label
        await sleep(LABEL_POLL_MS, options.signal)
      }
    },

    /** Ships all pending rows of the order's slice. The buyer gets an e-mail. */
    ship: (
      id: number,
      { trackingCode }: { trackingCode?: string | undefined } = {},
      options?: Options,
    ) =>
      requestData<ShippedOrderSlice>(send, 'POST', `/orders/${id}/ship`, {
        ...options,
        body: { tracking_code: trackingCode },
      }),
  }
}
