import type {
  PayoutRecord,
  PayoutSetupRecord,
  StatementRecord,
} from '../../../server/http/dashboard/payouts.ts'
import type { Data, Paginated } from '../api.ts'
import { apiUrl, get, post, put } from '../client.ts'

export type { PayoutRecord, PayoutSetupRecord, StatementRecord }

export const listPayouts = (query: { state: string; page: string }) =>
  get<Paginated<PayoutRecord> & { owed: number }>('payouts', { query })

export const readPayout = (id: string) =>
  get<Data<PayoutRecord>>(`payouts/${encodeURIComponent(id)}`)

export const readSetup = () => get<Data<PayoutSetupRecord>>('payouts/setup')

export const submitSetup = (body: { holder: string; iban: string; password?: string }) =>
  put<Data<PayoutSetupRecord>>('payouts/setup', body)

export const confirmSetup = (token: string) =>
  post<Data<PayoutSetupRecord>>('payouts/setup/confirm', { token })

export const readStatement = (month: string) =>
  get<Data<StatementRecord>>(`payouts/statements/${encodeURIComponent(month)}`)

/** The address of a statement as a table for spreadsheets. */
export const statementFile = (month: string) =>
  apiUrl(`payouts/statements/${encodeURIComponent(month)}`, { format: 'csv' })
