import { getAccount } from '../../accounts/accounts.ts'
import type { Context } from '../../context.ts'
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
  const startOf = (text: string, days = 0) =>
    Temporal.PlainDate.from(text).add({ days }).toZonedDateTime(timeZone).epochMilliseconds
  return {
    ...(times.from && { from: DATE.test(from!) ? storableTime(startOf(from!)) : times.from }),
    ...(times.to && { to: DATE.test(to!) ? storableTime(startOf(to!, 1) - 1_000) : times.to }),
  }
}

const DATE = /^\d{4}-\d\d-\d\d$/
