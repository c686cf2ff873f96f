import './listings.css'
import { lazy } from 'react'
import { Route, Switch } from 'wouter'
import { ListingsList } from './list.tsx'

const AddListing = lazy(() => import('./add.tsx'))
const Import = lazy(() => import('./import.tsx'))

export default function ListingsPage() {
  return (
    <Switch>
      <Route path="/listings/new">
        <AddListing />
      </Route>
      <Route path="/listings/import">
        <Import />
      </Route>
      <Route>
        <ListingsList />
      </Route>
    </Switch>
  )
}
