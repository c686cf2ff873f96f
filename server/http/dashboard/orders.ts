import Type, { type Static } from 'typebox'
import type { Account } from '../../accounts/account.ts'
import { getAccount } from '../../accounts/accounts.ts'
import { DISPUTE_STATES, ORDER_STATUSES } from '../../enums.ts'
import { refundsOfSlice } from '../../money/ledger.ts'
import { answerDispute, disputesOfSlice, listDisputes } from '../../orders/disputes.ts'
import { getSliceId } from '../../orders/orders.ts'
import {
  MAX_PRINTED,
  PACKED_STATUSES,
  type Packing,
  readPacking,
  readPackingOf,
} from '../../orders/packing.ts'
import { shipOrder } from '../../orders/ship-order.ts'
import { listSlices } from '../../orders/slice-list.ts'
import { cancelAsSeller } from '../../orders/transitions.ts'
import type { Service } from '../../service.ts'
import { getLabeledSlice } from '../../shipping/labeled-slice.ts'
import { buyLabel } from '../../shipping/labels.ts'
import { buyLabels, MAX_LABELS, mergeLabels } from '../../shipping/several-labels.ts'
import { actionsFor } from '../../shipping/slice-actions.ts'
import { endOfSecond } from '../../time/storable-time.ts'
import { goneSignal } from '../closing.ts'
import { packingParameters, sendPackingPage } from '../packing-page.ts'
import { wantsPage } from '../page.ts'
import { pageOf, pageParameters, paginated } from '../paginate.ts'
import { idList, type Query } from '../query.ts'
import { refuseInvalid } from '../refuse-invalid.ts'
import type { App } from '../schema.ts'
import {
  Data,
  DateTimeText,
  Nullable,
  OneOf,
  Paginated,
  PathId,
  SearchText,
  Text,
} from '../schema.ts'
import { AnswerInput, answerOf, DisputeSchema, disputeJson } from '../shapes/dispute.ts'
import { labelFields, labelFieldsJson } from '../shapes/label.ts'
import { LabelResultSchema, LabelsInput, labelResultJson } from '../shapes/labels.ts'
import { CancelInput } from '../shapes/own-order.ts'
import { OwnSliceSchema, ownSliceJson } from '../shapes/own-slice.ts'
import { PackingSchema, packingJson } from '../shapes/packing.ts'
import { SliceLineSchema, sliceLineJson } from '../shapes/slice-line.ts'
import { shopPeriod } from './shop-period.ts'

const filters = {
  status: Type.Optional(OneOf(ORDER_STATUSES)),
  from: Type.Optional(DateTimeText()),
  to: Type.Optional(DateTimeText()),
  buyer: Type.Optional(Text({ maxLength: 200 })),
}

const SliceList = Type.Object({
  data: Type.Array(SliceLineSchema),
  meta: Type.Object({
    newer: Nullable(Type.String(), { description: 'Value of `before` for the page above' }),
    older: Nullable(Type.String(), { description: 'Value of `after` for the page below' }),
  }),
})
const LabelOutcome = Type.Object({ ...labelFields, order: OwnSliceSchema })
const ShipInput = Type.Object({
  tracking_code: Type.Optional(Nullable(Text({ maxLength: 100 }))),
})

/** Types that the pages of the dashboard import. */
export type SliceList = Static<typeof SliceList>
export type SliceLine = Static<typeof SliceLineSchema>
export type OwnSlice = Static<typeof OwnSliceSchema>
export type Dispute = Static<typeof DisputeSchema>
export type LabelOutcome = Static<typeof LabelOutcome>
export type LabelResult = Static<typeof LabelResultSchema>

const OrderIds = () =>
  Text({ maxLength: 1_000, description: 'Ids of order rows, separated by commas' })

const params = Type.Object({ order: PathId('Any row of the slice') })

/** The orders of the member's shop, slice by slice. */
export function ordersApi(app: App, ctx: Service): void {
  app.get(
    '/orders',
    {
      schema: {
        querystring: Type.Object({
          ...filters,
          after: Type.Optional(SearchText()),
          before: Type.Optional(SearchText()),
          per_page: pageParameters.per_page,
        }),
        response: { 200: SliceList },
      },
    },
    async ({ member, query }) => {
      const { status, buyer, after, before } = query
      const { from, to } = await shopPeriod(ctx, member.accountId, query)
      const wanted = { status, from, to: to && endOfSecond(to), buyer }
      const { perPage } = pageOf(query as Query)
      const { rows, hasNewer, hasOlder } = await listSlices(
        ctx,
        member.accountId,
        wanted,
        { after, before },
        perPage,
      )
      return {
        data: rows.map(sliceLineJson),
        meta: {
          newer: (hasNewer && rows[0]?.sliceKey) || null,
          older: (hasOlder && rows.at(-1)?.sliceKey) || null,
        },
      }
    },
  )

  app.get(
    '/orders/disputes',
    {
      schema: {
        querystring: Type.Object({
          state: Type.Optional(OneOf(DISPUTE_STATES)),
          ...pageParameters,
        }),
        response: { 200: Paginated(DisputeSchema, 'A page of disputes') },
      },
    },
    async (request) => {
      const { accountId } = request.member
      const { state } = request.query
      return paginated(
        ctx,
        request,
        (page) => listDisputes(ctx, { accountId, state }, page),
        disputeJson,
      )
    },
  )

  app.get(
    '/orders/packing',
    {
      schema: {
        querystring: Type.Object({
          orders: Type.Optional(OrderIds()),
          status: Type.Optional(OneOf(PACKED_STATUSES, { default: 'pending' })),
          ...packingParameters,
        }),
        response: { 200: Data(PackingSchema, 'Pick list and packing slips') },
      },
    },
    async (request, reply) => {
      const { member, query } = request
      const print = (packing: Packing, total: number) =>
        wantsPage(request)
          ? sendPackingPage(reply, packing, { ...query, offset: 0, total })
          : { data: packingJson(packing) }
      if (query.orders !== undefined) {
        const orders = idList('orders', query.orders, MAX_LABELS)
        const packing = await readPackingOf(ctx, member.accountId, orders)
        return print(packing, packing.slips.length)
      }
      const { packing, total } = await readPacking(
        ctx,
        member.accountId,
        query.status ?? 'pending',
        { perPage: MAX_PRINTED, offset: 0 },
      )
      return print(packing, total)
    },
  )

  // One PDF of labels to print. It buys nothing, so that a browser can open it in a tab. Its first page names the
  // orders without a label, which could be overlooked among 50.
  app.get(
    '/orders/labels.pdf',
    { schema: { querystring: Type.Object({ orders: OrderIds() }) } },
    async ({ member, query }, reply) => {
      const orders = idList('orders', query.orders, MAX_LABELS)
      const { pdf } = await mergeLabels(ctx, member.accountId, orders, {
        hasCover: true,
        signal: goneSignal(reply),
      })
      return reply
        .header('content-disposition', 'inline; filename="labels.pdf"')
        .type('application/pdf')
        .send(Buffer.from(pdf))
    },
  )

  app.post(
    '/orders/labels',
    {
      config: { audit: 'begun and ended' },
      schema: {
        body: Type.Pick(LabelsInput, ['orders']),
        response: { 200: Data(Type.Array(LabelResultSchema), 'A result for each order') },
      },
    },
    async ({ member, body }) => {
      const account = await getAccount(ctx, member.accountId)
      return { data: (await buyLabels(ctx, account, body.orders)).map(labelResultJson) }
    },
  )

  app.get(
    '/orders/:order',
    { schema: { params, response: { 200: Data(OwnSliceSchema, 'The slice') } } },
    async ({ member, params: { order } }) => ({
      data: await readOwnSlice(ctx, await getAccount(ctx, member.accountId), order),
    }),
  )

  app.get(
    '/orders/:order/disputes',
    {
      schema: {
        params,
        response: { 200: Data(Type.Array(DisputeSchema), 'Disputes about rows of the slice') },
      },
    },
    async ({ member, params: { order } }) => ({
      data: (await disputesOfSlice(ctx, member.accountId, order)).map(disputeJson),
    }),
  )

  app.post(
    '/orders/:order/dispute/answer',
    {
      attachValidation: true,
      schema: {
        params,
        body: AnswerInput,
        response: { 200: Data(DisputeSchema, 'The dispute with the answer') },
      },
    },
    async (request) => {
      const { member, params, body } = request
      await refuseInvalid(request, params.order, (id) => getSliceId(ctx, id, member.accountId))
      const answer = answerOf(body)
      return {
        data: disputeJson(await answerDispute(ctx, member.accountId, params.order, answer)),
      }
    },
  )

  app.post(
    '/orders/:order/label',
    {
      config: { audit: 'begun and ended', isRepeatable: true },
      schema: { params, response: { 200: Data(LabelOutcome, 'The label') } },
    },
    async ({ member, params: { order: orderId } }) => {
      const account = await getAccount(ctx, member.accountId)
      const label = await buyLabel(ctx, { account, orderId })
      const order = await readOwnSlice(ctx, account, orderId)
      return { data: { ...labelFieldsJson(label), order } }
    },
  )

  app.post(
    '/orders/:order/ship',
    {
      attachValidation: true,
      schema: {
        params,
        body: Type.Optional(ShipInput),
        response: { 200: Data(OwnSliceSchema, 'The slice after shipping') },
      },
    },
    async (request) => {
      const { member, params, body } = request
      await refuseInvalid(request, params.order, (id) => getSliceId(ctx, id, member.accountId))
      const account = await getAccount(ctx, member.accountId)
      const code = body?.tracking_code?.trim() || null
      const { slice } = await shipOrder(ctx, account, params.order, code, (tx) =>
        readOwnSlice(tx, account, params.order),
      )
      return { data: slice }
    },
  )

  app.post(
    '/orders/:order/cancel',
    {
      attachValidation: true,
      schema: {
        params,
        body: CancelInput,
        response: { 200: Data(OwnSliceSchema, 'The slice after the cancellation') },
      },
    },
    async (request) => {
      const { member, params, body } = request
      await refuseInvalid(request, params.order, (id) => getSliceId(ctx, id, member.accountId))
      await cancelAsSeller(ctx, member.accountId, params.order, body)
      const account = await getAccount(ctx, member.accountId)
      return { data: await readOwnSlice(ctx, account, params.order) }
    },
  )
}

/** The slice of an account's order row, with its possible actions. @throws not_found */
async function readOwnSlice(ctx: Service, account: Account, orderId: number): Promise<OwnSlice> {
  const slice = await getLabeledSlice(ctx, account.id, orderId)
  const [actions, refunds] = await Promise.all([
    actionsFor(ctx, account, slice),
    refundsOfSlice(ctx, slice.id),
  ])
  return ownSliceJson(slice, actions, refunds)
}
