import { Link, Route, Switch } from 'wouter'
import { Badge } from '../ui/badge.tsx'
import { Filters, SearchFilter, useFilters } from '../ui/filters.tsx'
import { PageHeader } from '../ui/page-header.tsx'
import type { Column } from '../ui/table.tsx'
import { DateTime } from '../ui/values.tsx'
import { type Account, useList } from './api.ts'
import { PayoutSetups } from './payout-setups.tsx'
import { RecordList } from './record-list.tsx'
import { SellerPage } from './seller/seller.tsx'
import { ApiAccess } from './statuses.tsx'

export default function SellersPage() {
  return (
    <Switch>
      <Route path="/sellers">
        <SellerTabs />
        <SellerList />
      </Route>
      <Route path="/sellers/payout-setups">
        <SellerTabs />
        <PayoutSetups />
      </Route>
      <Route path="/sellers/:id">{({ id }) => <SellerPage key={id} id={id} />}</Route>
    </Switch>
  )
}

const SellerTabs = () => (
  <PageHeader
    title="Sellers"
    tabs={[
      { href: '/sellers', label: 'Accounts' },
      { href: '/sellers/payout-setups', label: 'Payout setups' },
    ]}
  />
)

const COLUMNS: Column<Account>[] = [
  {
    key: 'shop',
    header: 'Shop',
    isRowHeader: true,
    cell: ({ id, shop_name }) => (
      <div className="seller">
        <Link href={`/sellers/${id}`}>{shop_name}</Link>
        <p className="help">{id}</p>
      </div>
    ),
  },
  { key: 'email', header: 'E-mail', cell: ({ email }) => <div className="review">{email}</div> },
  { key: 'tier', header: 'Tier', cell: ({ seller_tier }) => seller_tier },
  {
    key: 'payouts',
    header: 'Payout setup',
    cell: ({ payout_verified: isVerified }) => (
      <Badge tone={isVerified ? 'good' : 'warn'}>{isVerified ? 'verified' : 'not verified'}</Badge>
    ),
  },
  { key: 'api', header: 'API access', cell: ApiAccess },
  {
    key: 'since',
    header: 'Since',
    cell: ({ created_at }) => <DateTime at={created_at} look="date" />,
  },
]

function SellerList() {
  const { filters, propsOf, isFiltered, clearFilters } = useFilters({ q: '', page: '' })
  const query = useList<Account>('accounts', filters)
  return (
    <>
      <Filters isFiltered={isFiltered} onClear={clearFilters}>
        <SearchFilter label="Shop, e-mail or number" {...propsOf('q')} />
      </Filters>
      <RecordList
        query={query}
        noun="sellers"
        label="Sellers"
        columns={COLUMNS}
        isFiltered={isFiltered}
      />
    </>
  )
}
