import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Type, { type Static } from 'typebox'
import { free, type Reservation, reserve } from '../../listings/reservations.ts'
import type { Service } from '../../service.ts'
import { timestamp } from '../../time/timestamp.ts'
import { once } from '../idempotency.ts'
import { idempotencyKeyHeader, idempotencyKeyOf } from '../idempotency-key.ts'
import { sendJson } from '../json.ts'
import { component, Data, FilledText, Id, PathId, Timestamp } from '../schema.ts'

const DEFAULT_TTL_SECONDS = 15 * 60
const LONGEST_TTL_SECONDS = 30 * 24 * 60 * 60
const MAX_QUANTITY = 1_000_000

const ReservationInput = Type.Object(
  {
    listing_id: Id(),
    quantity: Type.Integer({ minimum: 1, maximum: MAX_QUANTITY }),
    cart_id: FilledText({ maxLength: 255, description: 'Your name for the buyer’s cart' }),
    ttl_seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LONGEST_TTL_SECONDS,
        default: DEFAULT_TTL_SECONDS,
        description: 'How long the units are held',
      }),
    ),
  },
  { examples: [{ listing_id: 1, quantity: 1, cart_id: 'cart-8f2a', ttl_seconds: 900 }] },
)

const ReservationShown = component(
  'Reservation',
  Type.Object(
    {
      id: Type.Integer(),
      listing_id: Type.Integer(),
      cart_id: Type.String(),
      quantity: Type.Integer(),
      created_at: Timestamp(),
      expires_at: Timestamp({ description: 'From this moment on it counts for nothing' }),
    },
    { description: 'Units of a listing that a cart holds for a while.' },
  ),
)

export const reservationRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    app.post(
      '/reservations',
      {
        schema: {
          operationId: 'createReservation',
          summary: 'Hold units for a cart',
          description:
            'Nobody else can buy them until they are bought, freed or the time has run out. 409 when the listing is sold or hidden or too little of it is left. Reserving again for the same cart holds that much more. With an `Idempotency-Key` the request can be repeated safely for 24 hours.',
          tags: ['Reservations'],
          headers: idempotencyKeyHeader,
          body: ReservationInput,
          response: { 201: Data(ReservationShown, 'The reservation') },
          'x-errors': ['conflict', 'validation_error'],
          'x-example': {
            data: {
              id: 31,
              listing_id: 1204,
              cart_id: 'cart-8f2a',
              quantity: 1,
              created_at: '2026-03-01T09:30:00Z',
              expires_at: '2026-03-01T09:45:00Z',
            },
          },
        },
      },
      async (request, reply) => {
        const { body } = request
        const { listing_id: listingId, cart_id: cartId, quantity } = body
        const ttlSeconds = body.ttl_seconds ?? DEFAULT_TTL_SECONDS
        const answer = await once(
          ctx,
          {
            caller: 'operator',
            operation: 'createReservation',
            key: idempotencyKeyOf(request),
            bodyHash: request.bodyHash,
          },
          async (ctx) => {
            const reservation = await reserve(ctx, { listingId, cartId, quantity, ttlSeconds })
            return { status: 201, body: { data: reservationJson(reservation) } }
          },
        )
        return sendJson(reply.code(answer.status as 201), answer.body)
      },
    )

    app.delete(
      '/reservations/:id',
      {
        schema: {
          operationId: 'deleteReservation',
          summary: 'Free what a cart holds',
          tags: ['Reservations'],
          params: Type.Object({ id: PathId('The reservation') }),
          response: { 204: Type.Null({ description: 'Freed' }) },
        },
      },
      async ({ params }, reply) => {
        await free(ctx, params.id)
        return reply.code(204).send(null)
      },
    )
    done()
  }

const reservationJson = (reservation: Reservation): Static<typeof ReservationShown> => ({
  id: reservation.id,
  listing_id: reservation.listingId,
  cart_id: reservation.cartId,
  quantity: reservation.quantity,
  created_at: timestamp(reservation.createdAt),
  expires_at: timestamp(reservation.expiresAt),
})
