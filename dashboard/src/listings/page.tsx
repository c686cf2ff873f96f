import './listings.css'
import { Route, Switch } from 'wouter'
import { lazyComponent } from '../shell/lazy-component.tsx'
import { ListingsList } from './list.tsx'

const AddListing = lazyComponent(() => import('./add.tsx'))
const Import = lazyComponent(() => import('./import.tsx'))

export default function ListingsPage() {
  return (
    <Switch>
      <Route path="/listings/new" component={AddListing} />
      <Route path="/listings/import" component={Import} />
      <Route component={ListingsList} />
    </Switch>
  )
}
