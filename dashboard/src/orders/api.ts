import type { CancelReason } from '../../../server/enums.ts'
import type {
  Dispute,
  LabelOutcome,
  LabelResult,
  OwnSlice,
  SliceList,
} from '../../../server/http/dashboard/orders.ts'
import type { Data, Paginated } from '../api.ts'
import { apiUrl, get, isConflict, post } from '../client.ts'
import { readAgain } from '../query-client.ts'

export type { Dispute, LabelOutcome, LabelResult, OwnSlice, SliceList }
export type SliceLine = SliceList['data'][number]
export type OrderRow = OwnSlice['orders'][number]

/** Sends a write. If the state of the order forbids it, another tab or member has changed the order: reads it again. */
const write = <T>(path: string, body?: object): Promise<T> =>
  post<T>(`orders/${path}`, body).catch(async (error) => {
    if (isConflict(error)) await readAgain(['orders'])
    throw error
  })

export const listSlices = (filters: Record<string, string>) =>
  get<SliceList>('orders', { query: filters })

export const getSlice = async (order: number) => (await get<Data<OwnSlice>>(`orders/${order}`)).data

export const buyLabel = async (order: number) =>
  (await write<Data<LabelOutcome>>(`${order}/label`)).data

export const buyLabels = async (orders: number[]) =>
  (await post<Data<LabelResult[]>>('orders/labels', { orders })).data

export const ship = async (order: number, trackingCode: string | null) =>
  (await write<Data<OwnSlice>>(`${order}/ship`, { tracking_code: trackingCode })).data

export const cancel = async (order: number, input: { reason: CancelReason; restock: boolean }) =>
  (await write<Data<OwnSlice>>(`${order}/cancel`, input)).data

export const disputesOf = async (order: number) =>
  (await get<Data<Dispute[]>>(`orders/${order}/disputes`)).data

export const listDisputes = (filters: Record<string, string>) =>
  get<Paginated<Dispute>>('orders/disputes', { query: filters })

export const answerDispute = async (
  order: number,
  answer: { dispute_id: number; message: string; photo_urls: string[] },
) => (await write<Data<Dispute>>(`${order}/dispute/answer`, answer)).data

/** The page to print. Without orders, everything that waits to be shipped. */
export const packingUrl = (
  document: 'pick_list' | 'slips',
  paper: 'a4' | 'a6',
  orders?: number[],
) => apiUrl('orders/packing', { document, paper, orders: orders?.join() })

/** One PDF of the labels that are ready. */
export const labelsUrl = (orders: number[]) =>
  apiUrl('orders/labels.pdf', { orders: orders.join() })
