import './orders.css'
import { Route, Switch } from 'wouter'
import { OrderList } from './list.tsx'
import { SlicePage } from './slice.tsx'

export default function OrdersPage() {
  return (
    <Switch>
      <Route path="/orders/:order">
        {({ order }) => <SlicePage key={order} order={Number(order)} />}
      </Route>
      <Route>
        <OrderList />
      </Route>
    </Switch>
  )
}
