import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { PayoutSetupNotice } from '../payouts/setup-notice.tsx'
import { LatestReviews } from '../reviews/latest.tsx'
import { HiddenShopNotice } from '../shell/hidden-shop-notice.tsx'
import {
  formatDate,
  formatDateTime,
  formatMoney,
  formatNumber,
  formatRelative,
  isPast,
  plural,
} from '../ui/format.ts'
import { Notice } from '../ui/notice.tsx'
import { PageHeader } from '../ui/page-header.tsx'
import { Section } from '../ui/section.tsx'
import { Loaded } from '../ui/states.tsx'
import { type Overview, useOverview } from './api.ts'
import { SalesChart } from './chart.tsx'
import { Notices } from './notices.tsx'
import './overview.css'

export default function OverviewPage() {
  const overview = useOverview()
  return (
    <>
      <PageHeader title="Overview" />
      <HiddenShopNotice />
      <PayoutSetupNotice />
      <Notices />
      <Loaded query={overview} lines={8}>
        {(data) => <Figures overview={data} />}
      </Loaded>
      <LatestReviews />
    </>
  )
}

const Figures = ({
  overview: { to_ship: toShip, to_answer: toAnswer, sales, listings, tier },
}: {
  overview: Overview
}) => (
  <>
    {toAnswer.disputes > 0 && (
      <Notice tone="bad">
        <strong>{plural(toAnswer.disputes, 'dispute')} to answer.</strong>{' '}
        {toAnswer.answer_by &&
          `The first answer ${isPast(toAnswer.answer_by) ? 'was' : 'is'} due by ${formatDateTime(toAnswer.answer_by)}. `}
        <Link href={`/orders/${toAnswer.order}`}>Answer it</Link>
      </Notice>
    )}
    <div className="tiles">
      <Tile title="Orders to ship" value={formatNumber(toShip.orders)}>
        {toShip.oldest_at === null
          ? 'Everything is shipped.'
          : `The oldest was placed ${formatRelative(toShip.oldest_at)}.`}{' '}
        {toShip.orders > 0 && <Link href="/orders?status=pending">Ship them</Link>}
      </Tile>
      <Tile title="Sales, last 30 days" value={formatMoney(sales.total.merchandise)}>
        {plural(sales.total.orders, 'item')} sold, {formatMoney(sales.total.seller_net)} after
        commission.
      </Tile>
      <Tile title="Active listings" value={formatNumber(listings.active)}>
        {formatNumber(listings.sold)} sold out, {formatNumber(listings.hidden)} hidden.{' '}
        <Link href="/listings">Listings</Link>
      </Tile>
      <Tile title="Seller tier" value={tier.current}>
        {tier.next && (
          <progress
            value={tier.next.share}
            aria-label={`Progress towards ${tier.next.tier}`}
            className="tier-progress"
          />
        )}
        {progressOf(tier)}
      </Tile>
    </div>
    <Section
      title="Sales and payouts"
      help="The last 30 days in your time zone, by the day of the sale. Without shipping and cancelled orders."
    >
      <SalesChart {...sales} />
    </Section>
  </>
)

/** The tier that this month's shipped merchandise leads to. Tiers are calculated on the first day of each month. */
function progressOf({ current, merchandise, earned, changes_on: day, next }: Overview['tier']) {
  const shipped = `${formatMoney(merchandise)} shipped this month`
  const from = `from ${formatDate(day)}`
  if (next === null) {
    return earned === current
      ? `${shipped}. You keep the highest tier next month.`
      : `${shipped}: you are ${earned}, the highest tier, ${from}.`
  }
  const goal = formatMoney(next.threshold)
  if (next.tier === current) return `${shipped}. ${current} takes ${goal} each month.`
  return earned === current
    ? `${shipped}. With ${goal} you are ${next.tier} ${from}.`
    : `${shipped}: you are ${earned} ${from}, and ${next.tier} with ${goal}.`
}

const Tile = ({
  title,
  value,
  children,
}: {
  title: string
  value: string
  children: ReactNode
}) => (
  <section className="section tile" aria-label={title}>
    <h2>{title}</h2>
    <p className="figure">{value}</p>
    <p className="help">{children}</p>
  </section>
)
