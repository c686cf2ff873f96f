import { Route, Switch } from 'wouter'
import { PageHeader } from '../ui/page-header.tsx'
import { PayoutsTab } from './list.tsx'
import { PayoutPage } from './payout.tsx'
import { SetupTab } from './setup.tsx'
import { StatementTab } from './statement.tsx'
import './payouts.css'

export default function PayoutsPage() {
  return (
    <Switch>
      <Route path={/^\/payouts\/(?<id>\d+)$/}>{({ id = '' }) => <PayoutPage id={id} />}</Route>
      <Route component={Payouts} />
    </Switch>
  )
}

function Payouts() {
  return (
    <>
      <PageHeader
        title="Payouts"
        tabs={[
          { href: '/payouts', label: 'Payouts' },
          { href: '/payouts/statements', label: 'Statements' },
          { href: '/payouts/setup', label: 'Bank account' },
        ]}
      >
        Each order is paid out in one transfer when all of its items are received.
      </PageHeader>
      <Switch>
        <Route path="/payouts" component={PayoutsTab} />
        <Route path="/payouts/statements" component={StatementTab} />
        <Route path="/payouts/setup" component={SetupTab} />
      </Switch>
    </>
  )
}
