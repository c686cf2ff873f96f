import { useQuery } from '@tanstack/react-query'
import type { Me } from '../../../server/http/dashboard/me.ts'
import type { Data } from '../api.ts'
import { get } from '../client.ts'
import { session } from '../session.ts'

/** Read once, and again after a change of the settings: readAgain(['me']). */
export const useMe = (staleTime = 60_000) =>
  useQuery({
    queryKey: ['me'],
    queryFn: async () => {
      const me = await get<Data<Me>>('me')
      session.load(me.data.id)
      return me
    },
    select: ({ data }) => data,
    staleTime,
  })
