import { Link } from 'wouter'
import { Icon } from '../ui/icons.tsx'
import { useMe } from './me.ts'

/** Says that buyers don't see the shop, where a seller would otherwise wonder why nothing sells. */
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
  if (!account?.on_holiday) return null
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
