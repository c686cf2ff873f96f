import Type from 'typebox'
import { eurosFromCents } from '../../cents.ts'
import { DISPUTE_STATES, ORDER_STATUSES } from '../../enums.ts'
import { answerDispute, listDisputes } from '../../orders/disputes.ts'
import { listOrders } from '../../orders/orders.ts'
import { shipOrder } from '../../orders/ship-order.ts'
import { type SalesDay, salesOf } from '../../sales/sales.ts'
import { getLabeledSlice, type LabeledSlice, withLabel } from '../../shipping/labeled-slice.ts'
import { buyLabel } from '../../shipping/labels.ts'
import { optionalDateTime } from '../date-time.ts'
import { Data, OneOf, Text } from '../schema.ts'
import { AnswerInput, answerOf, DisputeSchema, disputeJson } from '../shapes/dispute.ts'
import { labelFields, labelFieldsJson } from '../shapes/label.ts'
import { OrderSchema, orderJson } from '../shapes/order.ts'
import { SliceSchema, sliceJson } from '../shapes/slice.ts'
import { IdInput, note, PageOf, pageInput, pageOf } from './fields.ts'
import { cutToFit, pageResult } from './result-size.ts'
import { READS, type SellerCall, tool } from './tool.ts'

const orderInput = {
  order: IdInput('Id of any row of the parcel'),
}

const listTool = tool({
  name: 'list_orders',
  title: 'List orders',
  description:
    'Lists the shop’s sales, newest first: one row per listing sold. Rows with one `slice_key` go to one buyer in one parcel. Status pending is paid, but not shipped. `price` is per unit. `seller_net` is after `seller_fee`, which includes `commission`, and without shipping; a cancellation or refund doesn’t change it: list_payouts has what is paid. Empty fields are left out.',
  scope: 'orders:read',
  input: {
    status: Type.Optional(OneOf(ORDER_STATUSES, { description: 'Default all' })),
    since: Type.Optional(
      Text({
        description: 'Created at or after this ISO 8601 date or time, UTC without an offset',
      }),
    ),
    ...pageInput,
  },
  output: PageOf(OrderSchema),
  effect: READS,
  async run(ctx, { status, since, ...input }, { account }: SellerCall) {
    const filters = {
      status,
      since: optionalDateTime('since', since),
    }
    const page = pageOf(input)
    const { rows, total } = await listOrders(ctx, account.id, filters, page)
    return pageResult(
      rows.map((order) => withoutNulls(orderJson(order))),
      total,
      page,
    )
  },
})

/** Removes null fields at all levels: a model reads an absent field as well, and most of an order's are null. */
function withoutNulls(value: object): object {
  const entries = Object.entries(value).filter(([, inner]) => inner !== null)
  return Object.fromEntries(
    entries.map(([name, inner]) => [
      name,
      typeof inner === 'object' && !Array.isArray(inner) ? withoutNulls(inner) : inner,
    ]),
  )
}

/** The result for a slice, without the rows that don't fit. */
const sliceResult = <More extends object>(
  slice: LabeledSlice,
  more: More,
  { withAddress = false } = {},
) => {
  const { orders, buyer, ...rest } = sliceJson(slice)
  const shown = { ...buyer, address: withAddress ? buyer.address : null }
  return cutToFit(
    orders,
    (orders) => ({ data: { orders, buyer: shown, ...rest }, ...more }),
    'list_orders shows all rows.',
  )
}

const getTool = tool({
  name: 'get_order',
  title: 'Read an order',
  description:
    'Reads the whole parcel that a row belongs to: rows, totals, shipping and label. `totals.seller_net` includes shipping that is paid to the seller, and is before cancellations and refunds. Ask for the address only if it is needed to ship.',
  scope: 'orders:read',
  input: {
    ...orderInput,
    include_address: Type.Optional(
      Type.Boolean({ description: 'Adds the buyer’s address. Default false' }),
    ),
  },
  output: Type.Object({ data: SliceSchema, note }),
  effect: READS,
  async run(ctx, { order, include_address: withAddress }, { account }: SellerCall) {
    return sliceResult(await getLabeledSlice(ctx, account.id, order), {}, { withAddress })
  },
})

const figures = {
  orders: Type.Integer(),
  merchandise: Type.Number(),
  seller_net: Type.Number(),
}

const figuresOf = ({ orders, merchandiseCents, sellerNetCents }: Omit<SalesDay, 'date'>) => ({
  orders,
  merchandise: eurosFromCents(merchandiseCents),
  seller_net: eurosFromCents(sellerNetCents),
})

const salesTool = tool({
  name: 'get_sales',
  title: 'Read sales',
  description:
    'Reads sales by day and in total, in euros, in the shop’s time zone. `orders` counts rows that are not cancelled, `merchandise` is their price before refunds, and `seller_net` is after the commission.',
  scope: 'orders:read',
  input: {
    from: Type.Optional(Text({ description: 'First date; default 29 days before `to`' })),
    to: Type.Optional(Text({ description: 'Last date, such as 2026-03-31; default today' })),
  },
  output: Type.Object({
    days: Type.Array(Type.Object({ date: Type.String(), ...figures })),
    total: Type.Object(figures),
    note,
  }),
  effect: READS,
  async run(ctx, period, { account }: SellerCall) {
    const { days, total } = await salesOf(ctx, account.id, account.timeZone, period)
    return cutToFit(
      days.map(({ date, ...day }) => ({ date, ...figuresOf(day) })),
      (days) => ({ days, total: figuresOf(total) }),
      'Ask for a shorter period.',
    )
  },
})

const { label_url: labelUrl, ...otherLabelFields } = labelFields

const labelTool = tool({
  name: 'buy_label',
  title: 'Buy a shipping label',
  description:
    'Buys the shipping label of a parcel and returns a link to its PDF. This costs money: ask the seller first. Repeated calls never buy a second label; they return a new link. It doesn’t mark the parcel as shipped: ship_order does.',
  scope: 'orders:write',
  input: orderInput,
  output: Type.Object({ ...otherLabelFields, label_url: labelUrl }),
  effect: { destructive: false, idempotent: true, reachesOutside: true },
  async run(ctx, { order: orderId }, { account }: SellerCall) {
    return labelFieldsJson(await buyLabel(ctx, { account, orderId }))
  },
  linkOf: ({ label_url: uri }) =>
    uri === null
      ? undefined
      : {
          uri,
          name: 'label.pdf',
          mimeType: 'application/pdf',
          description: 'The label to print. Anyone who has the link can download it.',
        },
})

const shipTool = tool({
  name: 'ship_order',
  title: 'Mark a parcel as shipped',
  description:
    'Marks all pending rows of a parcel as shipped. The buyer gets an e-mail, so call it only when the parcel is handed over. This cannot be undone.',
  scope: 'orders:write',
  input: {
    ...orderInput,
    tracking_code: Type.Optional(
      Text({
        maxLength: 100,
        description: 'Required for the seller’s own tracked shipping, refused otherwise',
      }),
    ),
  },
  output: Type.Object({ data: SliceSchema, shipped_lines: Type.Integer(), note }),
  effect: { destructive: true, idempotent: false },
  async run(ctx, { order, tracking_code }, { account }: SellerCall) {
    const code = tracking_code?.trim() || null
    const { slice, shippedLines } = await shipOrder(ctx, account, order, code, withLabel)
    return sliceResult(slice, { shipped_lines: shippedLines })
  },
})

const disputesTool = tool({
  name: 'list_disputes',
  title: 'List disputes',
  description:
    'Lists problems that buyers reported, in their words, newest first. State open waits for the seller’s answer until `answer_by`.',
  scope: 'orders:read',
  input: {
    state: Type.Optional(OneOf(DISPUTE_STATES, { description: 'Default all' })),
    order_id: Type.Optional(IdInput('Only about this order row')),
    ...pageInput,
  },
  output: PageOf(DisputeSchema),
  effect: READS,
  async run(ctx, { state, order_id: orderId, ...input }, { account }: SellerCall) {
    const page = pageOf(input)
    const { rows, total } = await listDisputes(ctx, { accountId: account.id, state, orderId }, page)
    return pageResult(rows.map(disputeJson), total, page)
  },
})

const { message, photo_urls: photoUrls } = AnswerInput.properties

const answerTool = tool({
  name: 'answer_dispute',
  title: 'Answer a dispute',
  description:
    'Sends the seller’s answer to a dispute. Possible once, and the buyer gets it by e-mail: let the seller approve the text first.',
  scope: 'orders:write',
  input: {
    order: IdInput('Id of the disputed order row'),
    // Required, unlike in the API: a seller approves an answer minutes or days after the dispute was read.
    dispute_id: IdInput('Id of the dispute that this answers, from list_disputes'),
    message: { ...message, description: 'Text for the buyer' },
    photo_urls: Type.Optional({
      ...photoUrls,
      description: 'Public URLs of photos, kept as links',
    }),
  },
  output: Data(DisputeSchema, 'The dispute with the answer'),
  effect: { destructive: true, idempotent: false },
  async run(ctx, { order, ...answer }, { account }: SellerCall) {
    return { data: disputeJson(await answerDispute(ctx, account.id, order, answerOf(answer))) }
  },
})

export const orderTools = [
  ...[listTool, getTool, salesTool, labelTool, shipTool],
  ...[disputesTool, answerTool],
]
