import { Route, Switch } from 'wouter'
import { PageHeader } from '../ui/page-header.tsx'
import { DeliveriesTab } from './deliveries.tsx'
import { DeliveryPage } from './delivery.tsx'
import { EndpointsTab } from './endpoints.tsx'
import { SignatureTab } from './signature.tsx'
import './webhooks.css'

export default function WebhooksPage() {
  return (
    <Switch>
      <Route path="/webhooks/deliveries/:id">{({ id }) => <DeliveryPage id={id} />}</Route>
      <Route>
        <PageHeader
          title="Webhooks"
          tabs={[
            { href: '/webhooks', label: 'Endpoints' },
            { href: '/webhooks/deliveries', label: 'Deliveries' },
            { href: '/webhooks/signature', label: 'Signature checker' },
          ]}
        >
          Requests to your own software when something happens in your shop.
        </PageHeader>
        <Switch>
          <Route path="/webhooks" component={EndpointsTab} />
          <Route path="/webhooks/deliveries" component={DeliveriesTab} />
          <Route path="/webhooks/signature" component={SignatureTab} />
        </Switch>
      </Route>
    </Switch>
  )
}
