import type { Found } from '../../../server/http/dashboard/search.ts'
import type { Data } from '../api.ts'
import { get } from '../client.ts'

export type { Found }

export const searchFor = (q: string, signal: AbortSignal) =>
  get<Data<Found>>('search', { query: { q }, signal })
