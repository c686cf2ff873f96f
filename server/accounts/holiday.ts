import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'

/**
 * Begins or ends a shop's holiday: buyers see neither the shop nor its offers, and cannot order. The listings keep their
 * status. After the return, no order can be placed until the holiday ends.
 */
export async function setHoliday(
  ctx: Context,
  accountId: number,
  onHoliday: boolean,
): Promise<void> {
  await inTransaction(ctx, async ({ db, signal }) => {
    await db`update accounts set on_holiday = ${onHoliday} where id = ${accountId}`
    // Not `keys`: cached callers don't have this column.
    await signal('offers')
  })
  if (!onHoliday) return
  // Checkouts that have read the former state hold a lock on the account. Only new ones see the state that is committed
  // now, so waiting in the transaction above could take forever in a busy shop.
  await inTransaction(ctx, ({ db }) => db`select from accounts where id = ${accountId} for update`)
}
