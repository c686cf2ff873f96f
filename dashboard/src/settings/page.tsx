import { Route, Switch } from 'wouter'
import type { Me } from '../../../server/http/dashboard/me.ts'
import { useMe } from '../shell/me.ts'
import { PageHeader } from '../ui/page-header.tsx'
import { Loaded } from '../ui/states.tsx'
import { ShippingTab } from './shipping.tsx'
import { ShopTab } from './shop.tsx'
import { SignInTab } from './sign-in.tsx'

export default function SettingsPage() {
  const me = useMe()
  return (
    <>
      <PageHeader
        title="Settings"
        tabs={[
          { href: '/settings', label: 'Shop' },
          { href: '/settings/shipping', label: 'Shipping options' },
          { href: '/settings/sign-in', label: 'E-mail and password' },
        ]}
      />
      <Loaded query={me}>{(data: Me) => <Tab me={data} />}</Loaded>
    </>
  )
}

const Tab = ({ me }: { me: Me }) => (
  <Switch>
    <Route path="/settings/shipping">
      <ShippingTab options={me.account.shipping_options} />
    </Route>
    <Route path="/settings/sign-in">
      <SignInTab email={me.email} />
    </Route>
    <Route component={ShopTab} />
  </Switch>
)
