import './orders.css'
import type { ReactNode } from 'react'
import { Route, Switch } from 'wouter'
import { ReviewsOfShop } from '../reviews/list.tsx'
import { PageHeader } from '../ui/page-header.tsx'
import { DisputeList } from './dispute-list.tsx'
import { OrderList } from './list.tsx'
import { PrintMenu } from './print-menu.tsx'
import { SlicePage } from './slice.tsx'
import { SliceOfKey } from './slice-of-key.tsx'

export default function OrdersPage() {
  return (
    <Switch>
      <Route path="/orders/disputes">
        <OrderTabs />
        <DisputeList />
      </Route>
      <Route path="/orders/reviews">
        <OrderTabs />
        <ReviewsOfShop />
      </Route>
      <Route path="/orders/:order">
        {({ order }) =>
          order.startsWith('slc_') ? (
            <SliceOfKey key={order} sliceKey={order} />
          ) : (
            <SlicePage key={order} order={Number(order)} />
          )
        }
      </Route>
      <Route>
        <OrderTabs actions={<PrintMenu label="Print everything to ship" />} />
        <OrderList />
      </Route>
    </Switch>
  )
}

const OrderTabs = ({ actions }: { actions?: ReactNode }) => (
  <PageHeader
    title="Orders"
    tabs={[
      { href: '/orders', label: 'Orders' },
      { href: '/orders/disputes', label: 'Disputes' },
      { href: '/orders/reviews', label: 'Reviews' },
    ]}
    actions={actions}
  />
)
