import { useSyncExternalStore } from 'react'
import { formatDateTime, formatMoney, formatRelative } from './format.ts'

/** Decimal euros. Missing amounts are a dash. */
export const Money = ({ amount }: { amount: number | null }) => (
  <span className="amount">{amount === null ? <Missing /> : formatMoney(amount)}</span>
)

/** A moment in the account's time zone; `relative` shows how long ago it is, with the moment as a title. */
export const DateTime = ({
  at,
  look = 'dateTime',
}: {
  at: string | null
  look?: 'dateTime' | 'date' | 'relative'
}) =>
  at === null ? (
    <Missing />
  ) : (
    <time dateTime={at} title={formatDateTime(at, 'full')} className="moment">
      {look === 'relative' ? <Relative at={at} /> : formatDateTime(at, look)}
    </time>
  )

const TICK_MS = 5_000

/** Follows the time while the page is open, also if nothing else changes. */
const Relative = ({ at }: { at: string }) => useSyncExternalStore(tick, () => formatRelative(at))

function tick(onTick: () => void) {
  const timer = setInterval(onTick, TICK_MS)
  return () => clearInterval(timer)
}

/** Nothing, said to screen readers as well. */
export const Missing = () => (
  <span className="missing">
    <span aria-hidden="true">–</span>
    <span className="visually-hidden">none</span>
  </span>
)
