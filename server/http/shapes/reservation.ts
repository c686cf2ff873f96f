import Type, { type Static } from 'typebox'
import type { Reservation } from '../../listings/reservations.ts'
import { timestamp } from '../../time/timestamp.ts'
import { component, FilledText, Id, Timestamp } from '../schema.ts'

export const DEFAULT_TTL_SECONDS = 15 * 60

const MAX_TTL_SECONDS = 30 * 24 * 60 * 60

const MAX_QUANTITY = 1_000_000

export const ReservationInput = Type.Object(
  {
    listing_id: Id(),
    quantity: Type.Integer({ minimum: 1, maximum: MAX_QUANTITY }),
    cart_id: FilledText({ maxLength: 255, description: 'Your id for the buyer’s cart' }),
    ttl_seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_TTL_SECONDS,
        default: DEFAULT_TTL_SECONDS,
        description: 'Lifetime of the reservation in seconds',
      }),
    ),
  },
  { examples: [{ listing_id: 1, quantity: 1, cart_id: 'cart-8f2a', ttl_seconds: 900 }] },
)

export const ReservationSchema = component(
  'Reservation',
  Type.Object(
    {
      id: Type.Integer(),
      listing_id: Type.Integer(),
      cart_id: Type.String(),
      quantity: Type.Integer(),
      created_at: Timestamp(),
      expires_at: Timestamp({ description: 'The reservation has no effect from this time on' }),
    },
    { description: 'Units of a listing that are held for a cart for a limited time.' },
  ),
)

export const reservationJson = (reservation: Reservation): Static<typeof ReservationSchema> => ({
  id: reservation.id,
  listing_id: reservation.listingId,
  cart_id: reservation.cartId,
  quantity: reservation.quantity,
  created_at: timestamp(reservation.createdAt),
  expires_at: timestamp(reservation.expiresAt),
})

export const exampleReservation = {
  id: 31,
  listing_id: 1204,
  cart_id: 'cart-8f2a',
  quantity: 1,
  created_at: '2026-03-01T09:30:00Z',
  expires_at: '2026-03-01T09:45:00Z',
}
