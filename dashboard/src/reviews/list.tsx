import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useFilters } from '../ui/filters.tsx'
import { List } from '../ui/list.tsx'
import { Section } from '../ui/section.tsx'
import { Empty } from '../ui/states.tsx'
import { LoadedPage } from '../ui/table.tsx'
import { listReviews } from './api.ts'
import { ReviewEntry, summaryOf } from './review.tsx'

/** All reviews of the shop, newest first. */
export function ReviewsOfShop() {
  const { filters } = useFilters({ page: '' })
  const query = useQuery({
    queryKey: ['reviews', 'all', filters],
    queryFn: () => listReviews(filters),
    placeholderData: keepPreviousData,
  })
  return (
    <LoadedPage query={query} noun="reviews">
      {({ data, rating, reviews }) =>
        data.length === 0 ? (
          <Empty title="No reviews yet" icon="star">
            Buyers can review an order after they have received it.
          </Empty>
        ) : (
          <Section title="Reviews" help={summaryOf(rating, reviews)}>
            <List className="reviews">
              {data.map((review) => (
                <ReviewEntry key={review.id} review={review} />
              ))}
            </List>
          </Section>
        )
      }
    </LoadedPage>
  )
}
