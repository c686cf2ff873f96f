import './orders.css'
import type { ReactNode } from 'react'
import { Route, Switch } from 'wouter'
import { ReviewsOfShop } from '../reviews/list.tsx'
import { NoSuchPage, PageHeader } from '../ui/page-header.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { DisputeList } from './dispute-list.tsx'
import { OrderList } from './list.tsx'
import { PrintMenu } from './print-menu.tsx'
import { SlicePage } from './slice.tsx'

/** The id of an order row, in digits that a number can hold. */
const ID = /^\d{1,15}$/

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
          ID.test(order) ? <SlicePage key={order} order={Number(order)} /> : <NoSuchPage />
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
  <>
    <PageHeader title="Orders" actions={actions} />
    <Tabs
      label="Orders"
      tabs={[
        { href: '/orders', label: 'Orders' },
        { href: '/orders/disputes', label: 'Disputes' },
        { href: '/orders/reviews', label: 'Reviews' },
      ]}
    />
  </>
)
