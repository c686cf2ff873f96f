import { useQuery } from '@tanstack/react-query'
import { type Dispatch, type SetStateAction, useState } from 'react'
import { Link } from 'wouter'
import { isConflict } from '../client.ts'
import { Button } from '../ui/button.tsx'
import { TextArea } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'
import { formatNumber } from '../ui/format.ts'
import { Section } from '../ui/section.tsx'
import { notify } from '../ui/toast.tsx'
import { Unsent } from '../ui/unsent.tsx'
import { DateTime } from '../ui/values.tsx'
import { listReviews, type Reply, type Review, reply } from './api.ts'

/** The buyer's review of an order, with the form for the reply. */
export function ReviewPart({ order }: { order: number }) {
  const reviews = useQuery({
    queryKey: ['reviews', order],
    queryFn: () => listReviews({ order: String(order) }),
  })
  const [draft, setDraft] = useState<Reply>()
  const review = reviews.data?.data[0]
  const isTyped = draft !== undefined && draft.text !== (draft.former ?? '')
  if (!review && !isTyped) return null
  return (
    <Section title="Review">
      {review && <ReviewText review={review} />}
      {review?.can_reply ? (
        <ReplyForm review={review} draft={draft} setDraft={setDraft} />
      ) : (
        <>
          {review && !review.reply && (
            <p className="help">You can no longer reply, because the buyer’s data was erased.</p>
          )}
          {isTyped && (
            <Unsent text={draft.text} onDrop={() => setDraft(undefined)}>
              {!review && 'This review was removed. '}Your reply was not sent:
            </Unsent>
          )}
        </>
      )}
    </Section>
  )
}

const ReviewText = ({ review: { stars, text, reply, created_at: at } }: { review: Review }) => (
  <>
    <p>
      <strong>{stars} of 5 stars</strong>{' '}
      <span className="help">
        <DateTime at={at} />
      </span>
    </p>
    {text && <blockquote>{text}</blockquote>}
    {reply && (
      <>
        <p className="help">
          You replied <DateTime at={reply.replied_at} />:
        </p>
        <blockquote>{reply.text}</blockquote>
      </>
    )}
  </>
)

/** A review in a list, with the way to its order, where it is replied to. */
export const ReviewEntry = ({ review }: { review: Review }) => (
  <li>
    <ReviewText review={review} />
    <p>
      <Link href={`/orders/${review.order_id}`}>
        Order {review.order_id}
        {!review.reply && review.can_reply && ': reply'}
      </Link>
    </p>
  </li>
)

/** `4.8 of 5 stars, 120 in all` */
export const summaryOf = (rating: number | null, count: number) =>
  `${rating === null ? '' : `${formatNumber(rating)} of 5 stars, `}${formatNumber(count)} in all`

/** The form for the first reply, and for one that replaces it. A typed text stays if another member has replied meanwhile. */
function ReplyForm({
  review,
  draft,
  setDraft,
}: {
  review: Review
  draft: Reply | undefined
  setDraft: Dispatch<SetStateAction<Reply | undefined>>
}) {
  const current = review.reply?.text ?? null
  if (!draft && current !== null) {
    return (
      <Button onPress={() => setDraft({ text: current, former: current })}>Change the reply</Button>
    )
  }
  const { text, former } = draft ?? { text: '', former: null }
  return (
    <Form
      label="Reply to the review"
      onSubmit={async () => {
        const { data } = await reply(review.id, { text, former }).catch((error) => {
          // The other reply is shown now, so the next attempt may replace it.
          if (isConflict(error)) setDraft((now) => ({ text: now?.text ?? text }))
          throw error
        })
        notify('Your reply is public now.')
        // A text that was changed while the former one was saved stays.
        setDraft((now) =>
          now && now.text !== text
            ? { text: now.text, former: data.reply?.text ?? null }
            : undefined,
        )
      }}
      actions={(isSaving) => (
        <>
          <Button type="submit" isPending={isSaving}>
            Reply
          </Button>
          {current !== null && <Button onPress={() => setDraft(undefined)}>Cancel</Button>}
        </>
      )}
    >
      <TextArea
        name="text"
        label="Your reply"
        rows={2}
        value={text}
        onChange={(text) => setDraft({ text, former })}
        help="Buyers see it next to the review."
      />
    </Form>
  )
}
