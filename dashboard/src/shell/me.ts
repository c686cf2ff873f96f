import { useQuery } from '@tanstack/react-query'
import type { Data } from '../api.ts'
import { get } from '../client.ts'

/** The signed-in member and the account. */
export type Me = {
  email: string
  account: {
    id: number
    shop_name: string
    slug: string
    email: string
    seller_tier: string
    payout_verified: boolean
    api_access: string
    rating: number | null
    reviews: number
    business: boolean
    created_at: string
    time_zone?: string | null
  }
  sandbox: boolean
  public_url: string
}

/** Read once, and again after a change of the settings: queryClient.invalidateQueries({ queryKey: ['me'] }). */
export const useMe = () =>
  useQuery({
    queryKey: ['me'],
    queryFn: () => get<Data<Me>>('me'),
    select: ({ data }) => data,
    staleTime: 60_000,
  })
