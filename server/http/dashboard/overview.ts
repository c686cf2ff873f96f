import Type, { type Static } from 'typebox'
import { getAccount } from '../../accounts/accounts.ts'
import { eurosFromCents } from '../../cents.ts'
import { countsByStatus } from '../../database/counts.ts'
import { SELLER_TIERS } from '../../enums.ts'
import { disputesToAnswer } from '../../orders/disputes.ts'
import { type SalesDay, salesOf, tierProgress, toShip } from '../../sales/sales.ts'
import type { Service } from '../../service.ts'
import { timestampOrNull } from '../../time/timestamp.ts'
import type { App } from '../schema.ts'
import { Data, Nullable, OneOf, Timestamp } from '../schema.ts'

const figures = {
  orders: Type.Integer(),
  merchandise: Type.Number(),
  seller_net: Type.Number(),
  paid_out: Type.Number(),
}

const OverviewSchema = Type.Object({
  to_ship: Type.Object({ orders: Type.Integer(), oldest_at: Nullable(Timestamp()) }),
  to_answer: Type.Object({
    disputes: Type.Integer(),
    answer_by: Nullable(Timestamp()),
    order: Nullable(Type.Integer(), { description: 'The order with the earliest deadline' }),
  }),
  sales: Type.Object({
    days: Type.Array(Type.Object({ date: Type.String(), ...figures })),
    total: Type.Object(figures),
  }),
  listings: Type.Object({ active: Type.Integer(), sold: Type.Integer(), hidden: Type.Integer() }),
  tier: Type.Object({
    current: OneOf(SELLER_TIERS),
    merchandise: Type.Number(),
    earned: OneOf(SELLER_TIERS),
    changes_on: Type.String(),
    next: Type.Union([
      Type.Null(),
      Type.Object({ tier: OneOf(SELLER_TIERS), threshold: Type.Number(), share: Type.Number() }),
    ]),
  }),
})

/** The figures of the overview. `share` is the part of the next tier's threshold that is reached, from 0 to 1. */
export type Overview = Static<typeof OverviewSchema>

export function overviewApi(app: App, ctx: Service): void {
  app.get(
    '/overview',
    { schema: { response: { 200: Data(OverviewSchema, 'The figures') } } },
    async ({ member: { accountId } }) => {
      const { timeZone, sellerTier } = await getAccount(ctx, accountId)
      const [waiting, disputes, { days, total }, listings, tier] = await Promise.all([
        toShip(ctx, accountId),
        disputesToAnswer(ctx, accountId),
        salesOf(ctx, accountId, timeZone),
        countsByStatus(ctx, 'listings', accountId),
        tierProgress(ctx, accountId, sellerTier),
      ])
      const { next, merchandiseCents } = tier
      return {
        data: {
          to_ship: { orders: waiting.slices, oldest_at: timestampOrNull(waiting.oldestAt) },
          to_answer: {
            disputes: disputes.disputes,
            answer_by: timestampOrNull(disputes.answerBy),
            order: disputes.orderId,
          },
          sales: {
            days: days.map(({ date, ...day }) => ({ date, ...figuresOf(day) })),
            total: figuresOf(total),
          },
          listings: { active: listings.active, sold: listings.sold, hidden: listings.hidden },
          tier: {
            current: tier.tier,
            merchandise: eurosFromCents(merchandiseCents),
            earned: tier.earned,
            changes_on: tier.changesOn,
            next: next && {
              tier: next.tier,
              threshold: eurosFromCents(next.thresholdCents),
              share: Math.min(1, merchandiseCents / Math.max(1, next.thresholdCents)),
            },
          },
        },
      }
    },
  )
}

const figuresOf = (day: Omit<SalesDay, 'date'>) => ({
  orders: day.orders,
  merchandise: eurosFromCents(day.merchandiseCents),
  seller_net: eurosFromCents(day.sellerNetCents),
  paid_out: eurosFromCents(day.paidOutCents),
})
