import Type, { type Static } from 'typebox'
import type { Review } from '../../reviews/review.ts'
import { timestamp } from '../../time/timestamp.ts'
import { component, Nullable, Timestamp, Words } from '../schema.ts'

const MAX_TEXT_LENGTH = 4_000

export const Stars = () => Type.Integer({ minimum: 1, maximum: 5 })

const text = Words({ maxLength: MAX_TEXT_LENGTH })

export const ReviewInput = Type.Object(
  { stars: Stars(), text: Type.Optional(Nullable(text)) },
  { examples: [{ stars: 5, text: 'Well packed, and exactly as described.' }] },
)

export const ReviewPatch = Type.Partial(ReviewInput, {
  examples: [{ stars: 4, text: 'Well packed, but a little late.' }],
})

export const ReplyInput = Type.Object({ text }, { examples: [{ text: 'Thank you!' }] })

export const ReviewSchema = component(
  'Review',
  Type.Object(
    {
      id: Type.Integer(),
      order_id: Type.Integer({ description: 'The order row whose receipt allowed the review' }),
      slice_key: Type.String(),
      account_id: Type.Integer(),
      stars: Type.Integer({ description: '1 to 5' }),
      text: Nullable(Type.String()),
      reply: Type.Union([
        Type.Null(),
        Type.Object({ text: Type.String(), replied_at: Timestamp() }),
      ]),
      created_at: Timestamp(),
      updated_at: Timestamp(),
      removed: Type.Union([
        Type.Null(),
        Type.Object({ reason: Type.String(), removed_at: Timestamp() }),
      ]),
    },
    { description: 'A buyer’s opinion about what one seller sent in one parcel.' },
  ),
)

export const reviewJson = (review: Review): Static<typeof ReviewSchema> => ({
  id: review.id,
  order_id: review.orderId,
  slice_key: review.sliceKey,
  account_id: review.accountId,
  stars: review.stars,
  text: review.text,
  reply:
    review.repliedAt === null
      ? null
      : { text: review.reply!, replied_at: timestamp(review.repliedAt) },
  created_at: timestamp(review.createdAt),
  updated_at: timestamp(review.updatedAt),
  removed:
    review.removedAt === null
      ? null
      : { reason: review.removedBecause!, removed_at: timestamp(review.removedAt) },
})

export const exampleReview: Static<typeof ReviewSchema> = {
  id: 4,
  order_id: 501,
  slice_key: 'slc_p1Jm0KQ8yVn3xXo2bT5sWg',
  account_id: 12,
  stars: 5,
  text: 'Well packed, and exactly as described.',
  reply: null,
  created_at: '2026-03-06T10:00:00Z',
  updated_at: '2026-03-06T10:00:00Z',
  removed: null,
}
