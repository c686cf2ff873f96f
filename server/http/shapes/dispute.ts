import Type, { type Static } from 'typebox'
import { eurosFromCents } from '../../cents.ts'
import { DISPUTE_REASONS, DISPUTE_STATES } from '../../enums.ts'
import { type Dispute, RESOLUTIONS } from '../../orders/dispute.ts'
import { MAX_URL_LENGTH } from '../../outbound/public-address.ts'
import { timestamp, timestampOrNull } from '../../time/timestamp.ts'
import { component, FilledText, Id, Nullable, OneOf, Timestamp, Words } from '../schema.ts'

const MAX_MESSAGE_LENGTH = 4_000
const MAX_PHOTOS = 10

export const disputeMessage = Words({ maxLength: MAX_MESSAGE_LENGTH })

export const DisputeSchema = component(
  'Dispute',
  Type.Object(
    {
      id: Type.Integer(),
      order_id: Type.Integer(),
      slice_key: Type.String(),
      account_id: Type.Integer(),
      item_name: Nullable(Type.String()),
      state: OneOf(DISPUTE_STATES, {
        description:
          '`open` waits for the seller’s answer, `answered` for the marketplace’s decision',
      }),
      reason: OneOf(DISPUTE_REASONS),
      message: Nullable(Type.String(), { description: 'The buyer’s words' }),
      opened_at: Timestamp(),
      answer_by: Timestamp({
        description:
          'The seller should have answered by then. A later answer counts until the dispute is resolved',
      }),
      answer: Type.Union([
        Type.Null(),
        Type.Object({
          message: Type.String(),
          photo_urls: Type.Array(Type.String(), {
            description: 'Links from the seller. The service does not fetch or check them',
          }),
          answered_at: Timestamp(),
        }),
      ]),
      resolution: Nullable(OneOf(RESOLUTIONS), {
        description: 'The side in whose favour the dispute was resolved',
      }),
      refund: Nullable(Type.Number(), {
        description: 'Amount that the resolution refunded, in decimal euros',
      }),
      resolved_at: Nullable(Timestamp()),
    },
    { description: 'A buyer’s report of a problem with an order row.' },
  ),
)

export const disputeJson = (dispute: Dispute): Static<typeof DisputeSchema> => ({
  id: dispute.id,
  order_id: dispute.orderId,
  slice_key: dispute.sliceKey,
  account_id: dispute.accountId,
  item_name: dispute.itemName,
  state: dispute.state,
  reason: dispute.reason,
  message: dispute.message,
  opened_at: timestamp(dispute.openedAt),
  answer_by: timestamp(dispute.answerBy),
  answer:
    dispute.answeredAt === null
      ? null
      : {
          message: dispute.answer!,
          photo_urls: dispute.photoUrls,
          answered_at: timestamp(dispute.answeredAt),
        },
  resolution: dispute.resolution,
  refund: dispute.refundCents === null ? null : eurosFromCents(dispute.refundCents),
  resolved_at: timestampOrNull(dispute.resolvedAt),
})

export const exampleDispute: Static<typeof DisputeSchema> = {
  id: 9,
  order_id: 501,
  slice_key: 'slc_p1Jm0KQ8yVn3xXo2bT5sWg',
  account_id: 12,
  item_name: 'Charizard VSTAR',
  state: 'open',
  reason: 'not_as_described',
  message: 'The corner is bent.',
  opened_at: '2026-03-06T10:00:00Z',
  answer_by: '2026-03-11T10:00:00Z',
  answer: null,
  resolution: null,
  refund: null,
  resolved_at: null,
}

/** The dispute that a caller has read, in the body of a decision or an answer. */
export const seenDispute = Type.Optional({
  ...Id(),
  description:
    'The `id` of the dispute that you have read. With it, the request can’t apply to a later dispute of the row: it fails with 409',
})

/** A seller's answer to a dispute. */
export const AnswerInput = Type.Object(
  {
    dispute_id: seenDispute,
    message: disputeMessage,
    photo_urls: Type.Optional(
      Type.Array(FilledText({ maxLength: MAX_URL_LENGTH, publicUrl: true, singleLine: true }), {
        maxItems: MAX_PHOTOS,
        description:
          'Public http or https URLs of photos. They are kept as links: the service does not fetch them',
      }),
    ),
  },
  {
    examples: [
      {
        message: 'The corner was straight when I packed the card, as the photo shows.',
        photo_urls: ['https://photos.example/charizard.jpg'],
      },
    ],
  },
)

/** The answer in a body. */
export const answerOf = ({
  message,
  photo_urls: photoUrls = [],
  dispute_id: disputeId,
}: Static<typeof AnswerInput>) => ({ message, photoUrls, disputeId })

export const exampleAnsweredDispute: Static<typeof DisputeSchema> = {
  ...exampleDispute,
  state: 'answered',
  answer: {
    message: 'The corner was straight when I packed the card, as the photo shows.',
    photo_urls: ['https://photos.example/charizard.jpg'],
    answered_at: '2026-03-07T08:00:00Z',
  },
}
