import { useQuery } from '@tanstack/react-query'
import type {
  DeliveryRecord,
  EndpointRecord,
  SignatureRecord,
} from '../../../server/http/dashboard/webhooks.ts'
import type { Data, Paginated } from '../api.ts'
import { get, post, remove } from '../client.ts'
import { readAfter, readAgain } from '../query-client.ts'

export type { DeliveryRecord, EndpointRecord, SignatureRecord }

/** A log that is open follows its deliveries. */
const LOG_INTERVAL_MS = 5_000

/** A first read that has failed is repeated by hand, so that its message stays. */
const refetchInterval = ({ state }: { state: { data?: unknown } }) =>
  state.data !== undefined && LOG_INTERVAL_MS

export const useEndpoints = () =>
  useQuery({
    queryKey: ['webhooks'],
    queryFn: () => get<Data<EndpointRecord[]>>('webhooks'),
    select: ({ data }) => data,
  })

type DeliveryFilters = Record<'endpoint_id' | 'status' | 'event' | 'from' | 'to' | 'page', string>

/** `from` and `to` are whole days in the account's time zone, both included. */
export const useDeliveries = (filters: DeliveryFilters) =>
  useQuery({
    queryKey: ['webhooks', 'deliveries', filters],
    queryFn: ({ signal }) =>
      get<Paginated<DeliveryRecord>>('webhooks/deliveries', { query: filters, signal }),
    // A new filter or page shows the former rows until it has loaded.
    placeholderData: (former) => former,
    refetchInterval,
  })

export const useDelivery = (id: string) =>
  useQuery({
    queryKey: ['webhooks', 'delivery', id],
    queryFn: () => get<Data<DeliveryRecord>>(`webhooks/deliveries/${encodeURIComponent(id)}`),
    select: ({ data }) => data,
    refetchInterval,
  })

const WEBHOOKS = ['webhooks']

export type EndpointInput = { url: string; events: string[] }

/** Returns the secret. Reads the endpoints again after an error too: if only the response was lost, the list shows it. */
export const addEndpoint = (endpoint: EndpointInput, idempotencyKey: string): Promise<string> =>
  post<{ secret: string }>('webhooks', endpoint, { idempotencyKey })
    .then(({ secret }) => secret)
    .finally(() => void readAgain(WEBHOOKS))

// These withdraw the notice of a disabled endpoint, so they read everything again.
export const deleteEndpoint = (id: number) => readAfter(remove(`webhooks/${id}`))

export const enableEndpoint = (id: number) => readAfter(post(`webhooks/${id}/enable`))

/** Returns the new secret. */
export const rotateSecret = (id: number, idempotencyKey: string): Promise<string> =>
  post<{ secret: string }>(`webhooks/${id}/rotate-secret`, undefined, { idempotencyKey })
    .then(({ secret }) => secret)
    .finally(() => void readAgain(WEBHOOKS))

export async function sendTest(id: number, event: string): Promise<DeliveryRecord> {
  const sent = post<Data<DeliveryRecord>>(`webhooks/${id}/test`, { event })
  return (await readAfter(sent, WEBHOOKS)).data
}

export const resend = (id: number) => readAfter(post(`webhooks/deliveries/${id}/resend`), WEBHOOKS)

/** Resends the missed deliveries of whole days in the account's time zone, and returns their number. */
export async function resendMissed(id: number, from: string, to: string): Promise<number> {
  const resent = post<Data<{ deliveries: number }>>(`webhooks/${id}/resend`, { from, to })
  return (await readAfter(resent, WEBHOOKS)).data.deliveries
}

export const checkSignature = (received: Record<string, string>) =>
  post<Data<SignatureRecord>>('webhooks/signature', received).then(({ data }) => data)
