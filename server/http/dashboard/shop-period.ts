import { getAccount } from '../../accounts/accounts.ts'
import type { Context } from '../../context.ts'
import { startOfDay } from '../../time/start-of-day.ts'
import { storableTime } from '../../time/storable-time.ts'
import { optionalDateTimes } from '../date-time.ts'

/**
 * The period of two dates or times. A date is a whole day in the shop's time zone. Both ends are inclusive, in whole
 * seconds.
 *
 * @throws validation_error
 */
export async function shopPeriod(
  ctx: Context,
  accountId: number,
  { from, to }: { from?: string | undefined; to?: string | undefined },
): Promise<{ from?: Date; to?: Date }> {
  const times = optionalDateTimes({ from, to })
  if (!times.from && !times.to) return {}
  const { timeZone } = await getAccount(ctx, accountId)
  const endOfDay = (date: string) => storableTime(startOfDay(date, timeZone, 1).getTime() - 1_000)
  return {
    ...(times.from && { from: DATE.test(from!) ? startOfDay(from!, timeZone) : times.from }),
    ...(times.to && { to: DATE.test(to!) ? endOfDay(to!) : times.to }),
  }
}

const DATE = /^\d{4}-\d\d-\d\d$/
