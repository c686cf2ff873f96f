import { useQuery } from '@tanstack/react-query'
import { Redirect } from 'wouter'
import { searchFor } from '../search/api.ts'
import { NoSuchPage } from '../ui/page-header.tsx'
import { Loaded } from '../ui/states.tsx'

/** Leads to the page of a slice. Its key is in statements, and in the APIs. */
export function SliceOfKey({ sliceKey }: { sliceKey: string }) {
  const query = useQuery({
    queryKey: ['search', sliceKey],
    queryFn: ({ signal }) => searchFor(sliceKey, signal),
  })
  return (
    <Loaded query={query}>
      {({ data: { orders } }) =>
        orders[0] ? <Redirect to={`/orders/${orders[0].order_id}`} replace /> : <NoSuchPage />
      }
    </Loaded>
  )
}
