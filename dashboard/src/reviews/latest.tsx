import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { formatNumber } from '../ui/format.ts'
import { Section } from '../ui/section.tsx'
import { listReviews } from './api.ts'
import { ReviewText } from './review.tsx'

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
      help={`${rating === null ? '' : `${formatNumber(rating)} of 5 stars, `}${formatNumber(count)} in all`}
    >
      {data.map((review) => (
        <div key={review.id}>
          <ReviewText review={review} />
          <Link href={`/orders/${review.order_id}`}>Order {review.order_id}</Link>
        </div>
      ))}
    </Section>
  )
}
