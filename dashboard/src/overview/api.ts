import { useQuery } from '@tanstack/react-query'
import type { NoticeRecord } from '../../../server/http/dashboard/notices.ts'
import type { Overview } from '../../../server/http/dashboard/overview.ts'
import type { Data } from '../api.ts'
import { get, remove } from '../client.ts'
import { queryClient } from '../query-client.ts'

export type { NoticeRecord, Overview }

export const useOverview = () =>
  useQuery({
    queryKey: ['overview'],
    queryFn: () => get<Data<Overview>>('overview'),
    select: ({ data }) => data,
  })

export const useNotices = () =>
  useQuery({
    queryKey: ['notices'],
    queryFn: () => get<Data<NoticeRecord[]>>('notices'),
    select: ({ data }) => data,
  })

export async function dismiss(id: number): Promise<void> {
  await remove(`notices/${id}`)
  await queryClient.invalidateQueries({ queryKey: ['notices'] })
}
