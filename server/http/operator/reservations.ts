import Type from 'typebox'
import { free, reserve } from '../../listings/reservations.ts'
import type { Service } from '../../service.ts'
import { sendOnce } from '../idempotency.ts'
import { idempotencyKeyHeader, repeatable } from '../idempotency-key.ts'
import type { App } from '../schema.ts'
import { Data, PathId } from '../schema.ts'
import {
  DEFAULT_TTL_SECONDS,
  exampleReservation,
  ReservationInput,
  ReservationSchema,
  reservationJson,
} from '../shapes/reservation.ts'

export function reservationRoutes(app: App, ctx: Service): void {
  app.post(
    '/reservations',
    {
      schema: {
        operationId: 'createReservation',
        summary: 'Reserve units for a cart',
        description:
          'Other carts cannot buy the units until the reservation is bought, deleted or expired. A further reservation for the same cart adds to the first one. Responds with 409 if the listing is sold or hidden, has too few units left, or its seller is on holiday, suspended or closed. With an `Idempotency-Key` you can safely repeat the request for 24 hours.',
        tags: ['Reservations'],
        headers: idempotencyKeyHeader,
        body: ReservationInput,
        response: { 201: Data(ReservationSchema, 'The reservation') },
        'x-errors': ['conflict', 'validation_error'],
        'x-example': { data: exampleReservation },
      },
    },
    async (request, reply) => {
      const { body } = request
      const { listing_id: listingId, cart_id: cartId, quantity } = body
      const ttlSeconds = body.ttl_seconds ?? DEFAULT_TTL_SECONDS
      const identity = repeatable(request, 'operator', 'createReservation')
      return sendOnce(ctx, reply, identity, async (ctx) => {
        const reservation = await reserve(ctx, { listingId, cartId, quantity, ttlSeconds })
        return { status: 201, body: { data: reservationJson(reservation) } }
      })
    },
  )

  app.delete(
    '/reservations/:id',
    {
      schema: {
        operationId: 'deleteReservation',
        summary: 'Delete a reservation',
        tags: ['Reservations'],
        params: Type.Object({ id: PathId('The reservation') }),
        response: { 204: Type.Null({ description: 'Deleted' }) },
      },
    },
    async ({ params }, reply) => {
      await free(ctx, params.id)
      return reply.code(204).send(null)
    },
  )
}
