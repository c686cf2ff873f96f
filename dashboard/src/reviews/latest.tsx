import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { List } from '../ui/list.tsx'
import { Section } from '../ui/section.tsx'
import { listReviews } from './api.ts'
import { ReviewEntry, summaryOf } from './review.tsx'

/** The latest reviews of the shop, on the overview. */
export function LatestReviews() {
  const reviews = useQuery({
    queryKey: ['reviews', 'latest'],
    queryFn: () => listReviews({ per_page: '3' }),
  })
  if (!reviews.data?.data.length) return null
  const { data, rating, reviews: count } = reviews.data
  return (
    <Section
      title="Reviews"
      help={summaryOf(rating, count)}
      actions={<Link href="/orders/reviews">All reviews</Link>}
    >
      <List className="reviews short">
        {data.map((review) => (
          <ReviewEntry key={review.id} review={review} />
        ))}
      </List>
    </Section>
  )
}
