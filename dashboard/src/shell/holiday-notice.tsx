import { Link } from 'wouter'
import { Icon } from '../ui/icons.tsx'
import { useMe } from './me.ts'

/** Says that the shop is on holiday, where a seller would otherwise wonder why nothing sells. */
export function HolidayNotice() {
  if (!useMe().data?.account.on_holiday) return null
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
