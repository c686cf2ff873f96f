import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { NoticeRecord } from '../../../server/http/dashboard/notices.ts'
import type { Overview } from '../../../server/http/dashboard/overview.ts'
import type { Data, Paginated } from '../api.ts'
import { ApiError, get, remove } from '../client.ts'
import { readAfter } from '../query-client.ts'

export type { NoticeRecord, Overview }

export const useOverview = () =>
  useQuery({
    queryKey: ['overview'],
    queryFn: () => get<Data<Overview>>('overview'),
    select: ({ data }) => data,
  })

export const useNotices = (page: string) =>
  useQuery({
    queryKey: ['notices', page],
    queryFn: () => get<Paginated<NoticeRecord>>('notices', { query: { page } }),
    placeholderData: keepPreviousData,
  })

export const dismiss = (id: number): Promise<void> =>
  readAfter(remove(`notices/${id}`), ['notices']).catch((error) => {
    // Another click, tab or member has dismissed it.
    if (!(error instanceof ApiError && error.status === 404)) throw error
  })
