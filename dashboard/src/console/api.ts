import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import type { Static } from 'typebox'
import type { PastRun } from '../../../server/http/operator/payout-runs.ts'
import type { AccountSchema } from '../../../server/http/shapes/account.ts'
import type { KeySchema } from '../../../server/http/shapes/api-key.ts'
import type { AuditEntrySchema } from '../../../server/http/shapes/audit.ts'
import type { DeliverySchema } from '../../../server/http/shapes/delivery.ts'
import type { DisputeSchema } from '../../../server/http/shapes/dispute.ts'
import type { LedgerEntrySchema } from '../../../server/http/shapes/ledger.ts'
import type { OperatorMailSchema } from '../../../server/http/shapes/mail.ts'
import type { MemberSchema } from '../../../server/http/shapes/member.ts'
import type { OperatorListingSchema } from '../../../server/http/shapes/operator-listing.ts'
import type { OperatorOrderSchema } from '../../../server/http/shapes/operator-order.ts'
import type { OperatorPayoutSchema } from '../../../server/http/shapes/operator-payout.ts'
import type { PayoutSetupSchema } from '../../../server/http/shapes/payout-setup.ts'
import type { ReviewSchema } from '../../../server/http/shapes/review.ts'
import type {
  ShipmentSchema,
  SliceOverviewSchema,
} from '../../../server/http/shapes/slice-overview.ts'
import type { CallerSchema, StaffSchema } from '../../../server/http/shapes/staff.ts'
import type { EndpointSchema } from '../../../server/http/shapes/webhook-endpoint.ts'
import type { Data, Paginated } from '../api.ts'
import { ApiError, get, patch, post, remove } from '../client.ts'
import { readAfter } from '../query-client.ts'

export type Account = Static<typeof AccountSchema>
export type AuditEntry = Static<typeof AuditEntrySchema>
export type Caller = Static<typeof CallerSchema>
export type Delivery = Static<typeof DeliverySchema>
export type Dispute = Static<typeof DisputeSchema>
export type Endpoint = Static<typeof EndpointSchema>
export type Key = Static<typeof KeySchema>
export type LedgerEntry = Static<typeof LedgerEntrySchema>
export type Listing = Static<typeof OperatorListingSchema>
export type Mail = Static<typeof OperatorMailSchema>
export type Member = Static<typeof MemberSchema>
export type Order = Static<typeof OperatorOrderSchema>
export type Payout = Static<typeof OperatorPayoutSchema>
export type PayoutSetup = Static<typeof PayoutSetupSchema>
export type Review = Static<typeof ReviewSchema>
export type { PastRun }
export type Staff = Static<typeof StaffSchema>
export type Shipment = Static<typeof ShipmentSchema>
export type Slice = Omit<Static<typeof SliceOverviewSchema>, 'shipment'> & {
  shipment: Shipment | null
}

export const readCaller = () => get<Data<Caller>>('staff/me').then(({ data }) => data)

/** The owner of the token. */
export const useCaller = () =>
  useQuery({ queryKey: ['caller'], queryFn: readCaller, staleTime: 60_000 })

/** Whether the token may call an operation, by its `operationId`. The service decides again at each call. */
export function useMay(): (operation: string) => boolean {
  const operations = useCaller().data?.operations
  return (operation) => operations?.includes(operation) ?? false
}

/**
 * A page of a list. A new filter or page shows the former rows until it has loaded. Blanks around a filter are left out:
 * copied texts often have some.
 */
export function useList<T>(path: string, filters: Record<string, string>) {
  const query = Object.fromEntries(
    Object.entries(filters).map(([name, value]) => [name, value.trim()]),
  )
  return useQuery({
    queryKey: [path, query],
    queryFn: ({ signal }) => get<Paginated<T>>(path, { query, signal }),
    placeholderData: keepPreviousData,
  })
}

export const useRecord = <T>(path: string) =>
  useQuery({
    queryKey: [path],
    queryFn: ({ signal }) => get<Data<T>>(path, { signal }),
    select: ({ data }) => data,
  })

/** A record as it is now. Shows nothing that was read before: an amount that has changed meanwhile must not mislead. */
export const useCurrentRecord = <T>(path: string) =>
  useQuery({
    // The key is each view's own: one that opens again can precede the timer that removes the former read.
    queryKey: [path, 'current', useId()],
    queryFn: ({ signal }) => get<Data<T>>(path, { signal }),
    select: ({ data }) => data,
    staleTime: 0,
    gcTime: 0,
  })

export type OrderFilters = Record<'q' | 'account_id' | 'status' | 'from' | 'to' | 'page', string>

/**
 * Order rows by the buyer's e-mail address, the number of a row, or the slice key, whichever `q` looks like, and by the
 * other filters.
 */
export const useOrders = (filters: OrderFilters) =>
  useQuery({
    queryKey: ['orders', filters],
    queryFn: ({ signal }) => findOrders(filters, signal),
    placeholderData: keepPreviousData,
  })

async function findOrders({ q, ...query }: OrderFilters, signal: AbortSignal) {
  if (/^\d+$/.test(q)) {
    const found = await orNothing(get<Data<Order>>(`orders/${q}`, { signal }))
    return listOfOne(found && matches(found.data, query) ? found : undefined)
  }
  const found = q.includes('@') ? { buyer_email: q } : { slice_key: q }
  return get<Paginated<Order>>('orders', { query: { ...query, ...found }, signal })
}

const matches = (
  order: Order,
  { account_id, status, from, to }: Omit<OrderFilters, 'q' | 'page'>,
): boolean =>
  (account_id === '' || Number(account_id) === order.account_id) &&
  (status === '' || status === order.status) &&
  (from === '' || new Date(from) <= new Date(order.created_at!)) &&
  (to === '' || new Date(order.created_at!) <= new Date(to))

const orNothing = <T>(read: Promise<Data<T>>): Promise<Data<T> | undefined> =>
  read.catch((error) => {
    if (error instanceof ApiError && error.status === 404) return undefined
    throw error
  })

function listOfOne<T>(found: Data<T> | undefined): Paginated<T> {
  const data = found ? [found.data] : []
  return { data, meta: { current_page: 1, last_page: 1, per_page: 1, total: data.length } }
}

/** Sends a write, and reads again what is shown. */
export const send = <T = void>(path: string, body?: unknown, idempotencyKey?: string): Promise<T> =>
  readAfter(post<T>(path, body, idempotencyKey === undefined ? {} : { idempotencyKey }))

/** Changes fields of a record, and reads again what is shown. */
export const sendPatch = (path: string, body: unknown): Promise<void> =>
  readAfter(patch(path, body))

/** Deletes a record, and reads again what is shown. */
export const sendDelete = (path: string, body?: unknown): Promise<void> =>
  readAfter(remove(path, body))
