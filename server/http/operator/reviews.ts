import Type from 'typebox'
import { addReview, changeReview, listReviews, removeReview } from '../../reviews/reviews.ts'
import type { Service } from '../../service.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import type { App } from '../schema.ts'
import { Data, Id, Paginated, PathId, Words } from '../schema.ts'
import {
  exampleReview,
  ReviewInput,
  ReviewPatch,
  ReviewSchema,
  reviewJson,
  Stars,
} from '../shapes/review.ts'
import { orderExists } from './must-exist.ts'

export function reviewList(app: App, ctx: Service): void {
  app.get(
    '/reviews',
    {
      schema: {
        operationId: 'listReviews',
        summary: 'List reviews',
        description: 'Returns reviews, newest first, including those that were removed.',
        tags: ['Orders'],
        querystring: Type.Object({
          account_id: Type.Optional(Id()),
          order_id: Type.Optional(Id()),
          stars: Type.Optional(Stars()),
          ...pageParameters,
        }),
        response: { 200: Paginated(ReviewSchema, 'A page of reviews') },
        'x-errors': ['validation_error'],
        'x-example': pageExample('/operator/v1/reviews', [exampleReview]),
      },
    },
    async (request) => {
      const { query } = request
      const filters = {
        accountId: query.account_id,
        orderId: query.order_id,
        stars: query.stars,
      }
      return paginated(ctx, request, (page) => listReviews(ctx, filters, page), reviewJson)
    },
  )
}

const params = Type.Object({ id: PathId('Any received row of the slice') })

export function reviewRoutes(app: App, ctx: Service): void {
  app.post(
    '/orders/:id/review',
    {
      preValidation: orderExists(ctx),
      schema: {
        operationId: 'addReview',
        summary: 'Add the buyer’s review of a slice',
        description:
          'Possible once per slice, after the row was received. The seller gets an e-mail and can reply; the seller’s `rating` and `reviews` follow.',
        tags: ['Orders'],
        params,
        body: ReviewInput,
        response: { 201: Data(ReviewSchema, 'The review') },
        'x-errors': ['conflict', 'validation_error'],
        'x-example': { data: exampleReview },
      },
    },
    async ({ params, body: { stars, text = null } }, reply) => {
      const review = await addReview(ctx, params.id, { stars, text })
      return reply.code(201).send({ data: reviewJson(review) })
    },
  )

  app.patch(
    '/orders/:id/review',
    {
      preValidation: orderExists(ctx),
      schema: {
        operationId: 'changeReview',
        summary: 'Change the review of a slice',
        description: 'Possible for 30 days. A reply of the seller stays.',
        tags: ['Orders'],
        params,
        body: ReviewPatch,
        response: { 200: Data(ReviewSchema, 'The review after the change') },
        'x-errors': ['conflict', 'validation_error'],
        'x-example': {
          data: {
            ...exampleReview,
            stars: 4,
            text: 'Well packed, but a little late.',
            updated_at: '2026-03-07T10:00:00Z',
          },
        },
      },
    },
    async ({ params, body }) => ({
      data: reviewJson(await changeReview(ctx, params.id, { stars: body.stars, text: body.text })),
    }),
  )

  app.delete(
    '/orders/:id/review',
    {
      preValidation: orderExists(ctx),
      schema: {
        operationId: 'removeReview',
        summary: 'Remove the review of a slice',
        description:
          'It is no longer shown or counted, and the slice can’t be reviewed again. The operator’s list keeps it with the reason. If the buyer’s data was erased, its text and reply are erased as well.',
        tags: ['Orders'],
        params,
        body: Type.Object(
          { reason: Words({ maxLength: 500 }) },
          { examples: [{ reason: 'It contains an address.' }] },
        ),
        response: { 204: Type.Null({ description: 'Removed' }) },
        'x-errors': ['validation_error'],
      },
    },
    async ({ params, body }, reply) => {
      await removeReview(ctx, params.id, body.reason)
      return reply.code(204).send(null)
    },
  )
}
