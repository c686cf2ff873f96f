import type { Context } from '../context.ts'
import { inBatches } from '../database/batches.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { sendMails } from '../mail/outbox.ts'
import { setupStateOf } from '../money/payout-setup.ts'
import { DAYS } from '../time/units.ts'
import { labelUnusedEmail, type SetupReminder, setupReminderEmail } from './emails.ts'

const LABEL_UNUSED_MS = 3 * DAYS
/** A seller without a payout setup is reminded again after this time, while orders wait. */
const SETUP_AGAIN_MS = 7 * DAYS
const BATCH = 200

/**
 * Reminds sellers of orders that wait for them: without a verified payout setup, or with a label that is ready and
 * was bought three days ago. Several processes can run it at once, because each reminder is recorded under a lock.
 */
export async function remindSellers(ctx: Context): Promise<void> {
  await inBatches((max) => remindOfSetup(ctx, max), BATCH)
  await inBatches((max) => remindOfLabels(ctx, max), BATCH)
}

const remindOfSetup = (ctx: Context, max: number): Promise<number> =>
  inTransaction(ctx, async (tx) => {
    const { db, now } = tx
    const before = new Date(now().getTime() - SETUP_AGAIN_MS)
    const accounts = await db<(SetupReminder & { id: number })[]>`
      update accounts a
      set setup_reminded_at = ${now()}
      from (
        select id
        from accounts
        where
          not payout_verified
          and exists (
            select from orders where account_id = accounts.id and status = 'pending'
          )
          and (
            setup_reminded_at is null
            or setup_reminded_at <= ${before}
            -- The last reminder was about none of the orders that wait now.
            or not exists (
              select from orders
              where
                account_id = accounts.id
                and status = 'pending'
                and created_at <= setup_reminded_at
            )
          )
        order by id
        limit ${max}
        for no key update skip locked
      ) waiting
      left join payout_setups s on s.account_id = waiting.id
      where a.id = waiting.id
      returning
        a.id,
        a.shop_name as "shopName",
        a.email,
        ${setupStateOf(db)} as setup,
        (
          select count(distinct slice_id)
          from orders
          where account_id = a.id and status = 'pending'
        ) as slices
    `
    await sendMails(
      tx,
      accounts.map((account) => ({
        ...setupReminderEmail(ctx, account),
        accountId: account.id,
      })),
    )
    return accounts.length
  })

const remindOfLabels = (ctx: Context, max: number): Promise<number> =>
  inTransaction(ctx, async (tx) => {
    const { db, now } = tx
    const before = new Date(now().getTime() - LABEL_UNUSED_MS)
    // A label is younger than its order, so the old pending rows of each seller lead to the labels. The array and OFFSET 0
    // keep the planner from reading all shipments instead: it expects many of these rows, because most orders are old.
    const labels = await db<
      { sliceId: number; orderId: number; buyerName: string; shopName: string; email: string }[]
    >`
      with unused as (
        select sh.slice_id
        from shipments sh
        where
          sh.slice_id = any(array(
            select o.slice_id
            from accounts a
            cross join lateral (
              select slice_id
              from orders
              where account_id = a.id and status = 'pending' and created_at <= ${before}
              offset 0
            ) o
          ))
          and sh.status = 'ready'
          and sh.bought_at <= ${before}
          and sh.reminded_at is null
        order by sh.slice_id
        limit ${max}
        for no key update of sh skip locked
      )
      update shipments sh
      set reminded_at = ${now()}
      from unused
      join slices s on s.id = unused.slice_id
      join accounts a on a.id = s.account_id
      join checkouts c on c.id = s.checkout_id
      where sh.slice_id = unused.slice_id
      returning
        sh.slice_id as "sliceId",
        sh.order_id as "orderId",
        c.buyer_name as "buyerName",
        a.shop_name as "shopName",
        a.email
    `
    await sendMails(
      tx,
      labels.map((label) => ({ ...labelUnusedEmail(ctx, label), sliceId: label.sliceId })),
    )
    return labels.length
  })
