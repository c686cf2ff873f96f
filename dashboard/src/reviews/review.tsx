import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Button } from '../ui/button.tsx'
import { TextArea } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'
import { Section } from '../ui/section.tsx'
import { notify } from '../ui/toast.tsx'
import { DateTime } from '../ui/values.tsx'
import { listReviews, type Review, reply } from './api.ts'

/** The buyer's review of an order, with the form for the reply. */
export function ReviewPart({ order }: { order: number }) {
  const reviews = useQuery({
    queryKey: ['reviews', order],
    queryFn: () => listReviews({ order: String(order) }),
  })
  const review = reviews.data?.data[0]
  if (!review) return null
  return (
    <Section title="Review">
      <ReviewText review={review} />
      {!review.reply && <ReplyForm review={review} />}
    </Section>
  )
}

export const ReviewText = ({
  review: { stars, text, reply, created_at: at },
}: {
  review: Review
}) => (
  <>
    <p>
      <strong>{stars} of 5 stars</strong>{' '}
      <span className="help">
        <DateTime at={at} />
      </span>
    </p>
    {text && <blockquote>{text}</blockquote>}
    {reply && (
      <p>
        <strong>You replied:</strong> {reply.text}
      </p>
    )}
  </>
)

function ReplyForm({ review }: { review: Review }) {
  const queryClient = useQueryClient()
  return (
    <Form
      label="Reply to the review"
      onSubmit={async (data) => {
        await reply(review.id, String(data.get('text')))
        notify('Your reply is public now.')
        await queryClient.invalidateQueries({ queryKey: ['reviews'] })
      }}
      actions={(isSaving) => (
        <Button type="submit" isPending={isSaving}>
          Reply
        </Button>
      )}
    >
      <TextArea name="text" label="Your reply" rows={2} help="Buyers see it next to the review." />
    </Form>
  )
}
