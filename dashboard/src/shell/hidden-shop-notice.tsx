import { Link } from 'wouter'
import { Notice } from '../ui/notice.tsx'
import { useMe } from './me.ts'

/** Says that buyers don't see the shop or can't order, where a seller would otherwise wonder why nothing sells. */
export function HiddenShopNotice() {
  const account = useMe().data?.account
  if (account?.api_access === 'suspended') {
    return (
      <Notice tone="warn">
        <strong>Your shop is suspended:</strong> buyers don’t see it and can’t order. You can still{' '}
        <Link href="/orders?status=pending">ship your orders</Link>. Ask the marketplace for the
        reason.
      </Notice>
    )
  }
  if (account?.on_holiday) {
    return (
      <Notice>
        <strong>Your shop is on holiday:</strong> buyers don’t see it and can’t order.{' '}
        <Link href="/settings">End the holiday</Link>
      </Notice>
    )
  }
  if (!account || account.shipping_options.some(({ enabled }) => enabled)) return null
  return (
    <Notice tone="warn">
      <strong>Nobody can order from your shop:</strong> no shipping option is enabled.{' '}
      <Link href="/settings/shipping">Shipping options</Link>
    </Notice>
  )
}
