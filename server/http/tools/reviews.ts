import Type from 'typebox'
import { listReviews, replyToReview, requireReview } from '../../reviews/reviews.ts'
import type { Service } from '../../service.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import { refuseInvalid } from '../refuse-invalid.ts'
import type { App } from '../schema.ts'
import { Data, Paginated, PathId } from '../schema.ts'
import { exampleReview, ReplyInput, ReviewSchema, reviewJson, Stars } from '../shapes/review.ts'

export function ownReviewRoutes(app: App, ctx: Service): void {
  app.get(
    '/reviews',
    {
      config: { scope: 'orders:read' },
      schema: {
        operationId: 'listOwnReviews',
        summary: 'List the reviews of your shop',
        description: 'Returns reviews, newest first.',
        tags: ['Orders'],
        querystring: Type.Object({ stars: Type.Optional(Stars()), ...pageParameters }),
        response: { 200: Paginated(ReviewSchema, 'A page of reviews') },
        'x-errors': ['validation_error'],
        'x-example': pageExample('/tools/v1/reviews', [exampleReview]),
      },
    },
    async (request) => {
      const { query } = request
      const filters = {
        accountId: request.caller.account.id,
        stars: query.stars,
        isShown: true,
      }
      return paginated(ctx, request, (page) => listReviews(ctx, filters, page), reviewJson)
    },
  )

  app.post(
    '/reviews/:review/reply',
    {
      config: { scope: 'orders:write' },
      attachValidation: true,
      schema: {
        operationId: 'replyToReview',
        summary: 'Reply to a review',
        description:
          'The reply is public. A further reply replaces it. The request fails with 409 once the buyer’s data is erased.',
        tags: ['Orders'],
        params: Type.Object({ review: PathId('The review') }),
        body: ReplyInput,
        response: { 200: Data(ReviewSchema, 'The review with your reply') },
        'x-errors': ['conflict', 'validation_error'],
        'x-example': {
          data: {
            ...exampleReview,
            reply: { text: 'Thank you!', replied_at: '2026-03-07T08:00:00Z' },
          },
        },
      },
    },
    async (request) => {
      const { account } = request.caller
      const { review } = request.params
      await refuseInvalid(request, review, (id) => requireReview(ctx, account.id, id))
      return {
        data: reviewJson(await replyToReview(ctx, account.id, review, request.body)),
      }
    },
  )
}
