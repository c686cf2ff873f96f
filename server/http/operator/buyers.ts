import Type from 'typebox'
import { type BuyerData, eraseBuyer, exportBuyer } from '../../back-office/buyers.ts'
import { DISPUTE_REASONS } from '../../enums.ts'
import type { Service } from '../../service.ts'
import { timestamp } from '../../time/timestamp.ts'
import type { App } from '../schema.ts'
import { Data, FilledText, Nullable, OneOf, Timestamp } from '../schema.ts'
import { AddressSchema, addressJson } from '../shapes/address.ts'
import { exampleOperatorMail, OperatorMailSchema, operatorMailJson } from '../shapes/mail.ts'
import {
  exampleOperatorOrder,
  OperatorOrderSchema,
  operatorOrderJson,
} from '../shapes/operator-order.ts'
import { exampleShipment, ShipmentSchema, shipmentJson } from '../shapes/slice-overview.ts'

const BuyerInput = Type.Object(
  {
    email: FilledText({
      maxLength: 254,
      description:
        'In any casing, with either form of a domain that is not ASCII; white space around it is ignored',
    }),
  },
  { examples: [{ email: 'ash@buyers.example' }] },
)

const count = (description: string) => Type.Integer({ description })

const ErasedSchema = Type.Object({
  checkouts: count('Checkouts that lost the name, the e-mail address and the delivery address'),
  mails: count('E-mails that lost their recipient and text'),
  events: count('Event payloads that lost the name and the address'),
  labels: count('Label PDFs that were deleted'),
  disputes: count('Disputes that lost the buyer’s message and the seller’s answer'),
  reviews: count('Reviews that lost their text and reply; their stars stay'),
  open: count('Checkouts with an open order, whose data is kept'),
})

const BuyerDataSchema = Type.Object({
  email: Type.String(),
  checkouts: Type.Array(
    Type.Object({
      id: Type.Integer(),
      name: Type.String(),
      email: Type.String(),
      address: Type.Unsafe<object | null>({ anyOf: [AddressSchema, { type: 'null' }] }),
      created_at: Timestamp(),
    }),
  ),
  orders: Type.Array(OperatorOrderSchema),
  mails: Type.Array(OperatorMailSchema, {
    description:
      'E-mails about the buyer’s orders, with `…` as the address of a seller, and those to the buyer’s address about no order',
  }),
  shipments: Type.Array(ShipmentSchema, {
    description: 'Shipments with a platform label. `tracking` of an order row has any other code',
  }),
  events: Type.Array(
    Type.Object({
      event: Type.String(),
      data: Type.Object({}, { additionalProperties: true }),
      created_at: Timestamp(),
    }),
    { description: 'Events that were sent to sellers’ endpoints' },
  ),
  disputes: Type.Array(
    Type.Object({
      order_id: Type.Integer(),
      reason: OneOf(DISPUTE_REASONS),
      message: Nullable(Type.String()),
      answer: Nullable(Type.String(), { description: 'The seller’s words' }),
      photo_urls: Type.Array(Type.String()),
      opened_at: Timestamp(),
    }),
  ),
  reviews: Type.Array(
    Type.Object({
      slice_key: Type.String(),
      stars: Type.Integer(),
      text: Nullable(Type.String()),
      reply: Nullable(Type.String(), { description: 'The seller’s words' }),
      created_at: Timestamp(),
    }),
  ),
})

const buyerDataJson = (email: string, data: BuyerData) => ({
  email,
  checkouts: data.checkouts.map(({ id, name, email, address, createdAt }) => ({
    ...{ id, name, email },
    address: address && addressJson(address),
    created_at: timestamp(createdAt),
  })),
  orders: data.orders.map(operatorOrderJson),
  mails: data.mails.map(operatorMailJson),
  shipments: data.shipments.map(shipmentJson),
  events: data.events.map(({ event, data, createdAt }) => ({
    event,
    data: JSON.parse(data),
    created_at: timestamp(createdAt),
  })),
  disputes: data.disputes.map(({ orderId, photoUrls, openedAt, ...dispute }) => ({
    ...dispute,
    order_id: orderId,
    photo_urls: photoUrls,
    opened_at: timestamp(openedAt),
  })),
  reviews: data.reviews.map(({ sliceKey, createdAt, ...review }) => ({
    ...review,
    slice_key: sliceKey,
    created_at: timestamp(createdAt),
  })),
})

export function buyerRoutes(app: App, ctx: Service): void {
  app.post(
    '/buyers/erase',
    {
      // It deletes files, and has a transaction for each batch of checkouts.
      config: { audit: 'begun and ended', isLong: true },
      schema: {
        operationId: 'eraseBuyer',
        summary: 'Erase a buyer’s personal data',
        description:
          'Erases the name, the e-mail address, the delivery address with its phone number, the texts of e-mails and reviews, the payloads of events and receivers’ responses to them, tracking URLs, messages of disputes, the seller’s answers and replies, and label PDFs of completed orders. Amounts, items and stars stay. A checkout with an open order keeps its data: repeat the request when it is completed.',
        tags: ['Buyers'],
        body: BuyerInput,
        response: { 200: Data(ErasedSchema, 'Numbers of erased records') },
        'x-errors': ['validation_error'],
        'x-example': {
          data: {
            checkouts: 2,
            mails: 7,
            events: 3,
            labels: 1,
            disputes: 0,
            reviews: 1,
            open: 0,
          },
        },
      },
    },
    async ({ body }) => ({ data: await eraseBuyer(ctx, body.email.trim()) }),
  )

  app.post(
    '/buyers/export',
    {
      config: { audit: 'without state' },
      schema: {
        operationId: 'exportBuyer',
        summary: 'Export a buyer’s personal data',
        description:
          'Returns the stored data of the buyer with this e-mail address: it leaves out reasons that staff wrote, the audit log, responses of webhook receivers, and sellers’ e-mail addresses. It is a POST so that the address appears in no log of URLs; it is recorded in the audit log.',
        tags: ['Buyers'],
        body: BuyerInput,
        response: { 200: Data(BuyerDataSchema, 'The data') },
        'x-errors': ['validation_error'],
        'x-example': {
          data: {
            email: 'ash@buyers.example',
            checkouts: [],
            orders: [exampleOperatorOrder],
            mails: [exampleOperatorMail],
            shipments: [exampleShipment],
            events: [],
            disputes: [],
            reviews: [],
          },
        },
      },
    },
    async ({ body }) => {
      const email = body.email.trim()
      return { data: buyerDataJson(email, await exportBuyer(ctx, email)) }
    },
  )
}
