import { Route, Switch } from 'wouter'
import { PageHeader } from '../../ui/page-header.tsx'
import { Ledger } from './ledger.tsx'
import { Payouts } from './payouts.tsx'
import { PayoutRuns } from './runs.tsx'

/** The marketplace's money: payouts to sellers, their runs, and the ledger. */
export default function PayoutsPage() {
  return (
    <>
      <PageHeader
        title="Payouts"
        tabs={[
          { href: '/payouts', label: 'Payouts' },
          { href: '/payouts/runs', label: 'Runs' },
          { href: '/payouts/ledger', label: 'Ledger' },
        ]}
      />
      <Switch>
        <Route path="/payouts" component={Payouts} />
        <Route path="/payouts/runs" component={PayoutRuns} />
        <Route path="/payouts/ledger" component={Ledger} />
      </Switch>
    </>
  )
}
