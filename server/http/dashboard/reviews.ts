import Type, { type Static } from 'typebox'
import { getAccount } from '../../accounts/accounts.ts'
import { shownRating } from '../../accounts/rating.ts'
import type { Review } from '../../reviews/review.ts'
import { listReviews, replyToReview, requireReview } from '../../reviews/reviews.ts'
import type { Service } from '../../service.ts'
import { pageParameters, paginated } from '../paginate.ts'
import { refuseInvalid } from '../refuse-invalid.ts'
import type { App } from '../schema.ts'
import { Data, Id, Nullable, Paginated, PathId, Text } from '../schema.ts'
import { ReplyInput, ReviewSchema, reviewJson } from '../shapes/review.ts'

const OwnReview = Type.Intersect([ReviewSchema, Type.Object({ can_reply: Type.Boolean() })])

const ReviewList = Type.Object({
  ...Paginated(OwnReview, 'A page of reviews').properties,
  rating: Nullable(Type.Number()),
  reviews: Type.Integer(),
})

/** A review, and whether the seller may reply to it. */
export type OwnReview = Static<typeof OwnReview>
export type ReviewList = Static<typeof ReviewList>

/** The reviews of the member's shop: the latest, or those of an order. */
export function reviewsApi(app: App, ctx: Service): void {
  app.get(
    '/reviews',
    {
      schema: {
        querystring: Type.Object({ order: Type.Optional(Id()), ...pageParameters }),
        response: { 200: ReviewList },
      },
    },
    async (request) => {
      const { accountId } = request.member
      const { query } = request
      const filters = {
        accountId,
        orderId: query.order,
        isShown: true,
      }
      const [list, { sellerRating, sellerReviews }] = await Promise.all([
        paginated(ctx, request, (page) => listReviews(ctx, filters, page), ownReviewJson),
        getAccount(ctx, accountId),
      ])
      const rating = shownRating(sellerRating, sellerReviews)
      return { ...list, rating, reviews: sellerReviews }
    },
  )

  app.post(
    '/reviews/:review/reply',
    {
      attachValidation: true,
      schema: {
        params: Type.Object({ review: PathId('The review') }),
        body: Type.Object({
          ...ReplyInput.properties,
          former: Type.Optional(
            Nullable(Text(), { description: 'The reply that this one replaces' }),
          ),
        }),
        response: { 200: Data(OwnReview, 'The review with the reply') },
      },
    },
    async (request) => {
      const { member, params, body } = request
      await refuseInvalid(request, params.review, (id) => requireReview(ctx, member.accountId, id))
      const review = await replyToReview(ctx, member.accountId, params.review, body)
      return { data: ownReviewJson(review) }
    },
  )
}

const ownReviewJson = (review: Review): OwnReview => ({
  ...reviewJson(review),
  can_reply: !review.isBuyerErased,
})
