import { Link } from 'wouter'
import { Icon } from '../ui/icons.tsx'
import { useMe } from './me.ts'

/** Says that buyers don't see the shop or can't order, where a seller would otherwise wonder why nothing sells. */
export function HiddenShopNotice() {
  const account = useMe().data?.account
  if (account?.api_access === 'suspended') {
    return (
      <div className="notice warn">
        <Icon name="warning" />
        <div>
          <strong>Your shop is suspended:</strong> buyers don’t see it and can’t order. You can
          still <Link href="/orders?status=pending">ship your orders</Link>. Ask the marketplace for
          the reason.
        </div>
      </div>
    )
  }
  if (account?.on_holiday) {
    return (
      <div className="notice">
        <Icon name="info" />
        <div>
          <strong>Your shop is on holiday:</strong> buyers don’t see it and can’t order.{' '}
          <Link href="/settings">End the holiday</Link>
        </div>
      </div>
    )
  }
  if (!account || account.shipping_options.some(({ enabled }) => enabled)) return null
  return (
    <div className="notice warn">
      <Icon name="warning" />
      <div>
        <strong>Nobody can order from your shop:</strong> no shipping option is enabled.{' '}
        <Link href="/settings/shipping">Shipping options</Link>
      </div>
    </div>
  )
}
