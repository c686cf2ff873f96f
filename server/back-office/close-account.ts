import type { Account } from '../accounts/account.ts'
import { getAccount } from '../accounts/accounts.ts'
import type { Context } from '../context.ts'
import { inBatches } from '../database/batches.ts'
import { placeOfPage } from '../database/counts.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { OPEN_STATUSES } from '../enums.ts'
import { afterFirstCommit, conflict } from '../errors.ts'
import { removeListings } from '../listings/remove-listings.ts'
import { endGrantsOfAccount } from '../oauth/grants.ts'
import { listEndpoints, removeEndpoint } from '../webhooks/endpoints.ts'

/** Listings that one transaction removes. */
const BATCH = 1_000

/**
 * Closes an account: removes its listings, revokes its keys, and deletes its endpoints and members. Its orders, payouts
 * and ledger stay. A large shop's listings are removed in several transactions; a second call continues after an
 * interruption. The account can list cards again when `changeAccount` enables its API access, or when it has a new member.
 *
 * @throws not_found, conflict while orders are open, payouts are unpaid, or the seller owes money
 */
export async function closeAccount(ctx: Context, id: number): Promise<Account> {
  await getAccount(ctx, id)
  await requireSettled(ctx, id)
  await removeAllListings(ctx, id)
  return afterFirstCommit(async () => {
    await lockOut(ctx, id)
    // Requests that were admitted before may still be listing cards or creating a key.
    await waitForRequests(ctx, id)
    await removeAllListings(ctx, id)
    return lockOut(ctx, id)
  })
}

const lockOut = (ctx: Context, id: number): Promise<Account> =>
  inTransaction(ctx, async (tx) => {
    const { db, now, signal } = tx
    await db`select from accounts where id = ${id} for no key update`
    // A checkout may have sold a listing before it was removed.
    await requireSettled(tx, id)
    // The second call also closes an account that got a member meanwhile. A suspended account stays suspended.
    await db`
      update accounts
      set
        api_access = case when api_access = 'suspended' then api_access else 'disabled' end,
        closed_at = coalesce(closed_at, ${now()})
      where id = ${id}
    `
    await db`
      update api_keys set revoked_at = ${now()} where account_id = ${id} and revoked_at is null
    `
    for (const endpoint of await listEndpoints(tx, id)) await removeEndpoint(tx, id, endpoint.id)
    // A password reset locks the member before the grants that it ends.
    await db`select from members where account_id = ${id} order by id for update`
    await endGrantsOfAccount(tx, id)
    // They are about keys and listings that are gone.
    await db`delete from notices where account_id = ${id}`
    // Their sessions are deleted with them.
    await db`delete from members where account_id = ${id}`
    await signal('keys', id)
    return getAccount(tx, id)
  })

/**
 * Waits for uncommitted listings and keys: `createListings` and `createKey` lock the account's row before they insert,
 * and refuse a closed account. The transaction locks nothing else, because sales that have locked other rows wait for
 * this lock.
 */
const waitForRequests = (ctx: Context, id: number): Promise<void> =>
  inTransaction(ctx, async ({ db }) => {
    await db`select from accounts where id = ${id} for update`
  })

async function requireSettled({ db }: Pick<Context, 'db'>, id: number): Promise<void> {
  const [row] = await db<{ isOpen: boolean; isDue: boolean; owes: boolean }[]>`
    select
      -- Reads the kept counts, because a large shop has millions of completed orders and of paid payouts, and where few shops
      -- have all orders, the planner would look for an open one of this shop in all of them.
      (select total from ${placeOfPage(db, 'orders', id, OPEN_STATUSES, 0)}) > 0 as "isOpen",
      (select total from ${placeOfPage(db, 'payouts', id, ['due', 'sent'], 0)}) > 0
      or exists (
        select from payouts where account_id = ${id} and state = 'failed' and amount_cents > 0
      ) as "isDue",
      exists (select from slices where account_id = ${id} and owed_cents > 0) as owes
  `
  if (row?.isOpen) throw conflict('The account has open orders. Complete or cancel them first.')
  if (row?.isDue)
    throw conflict(
      'The account has payouts that are not paid. Run those that are due, and report the bank’s results of those that were sent. Mark the others as paid if they were paid otherwise.',
    )
  if (row?.owes)
    throw conflict(
      'The seller owes money after refunds: sales that follow must pay for it. Disable the API access instead.',
    )
}

async function removeAllListings(ctx: Context, accountId: number): Promise<void> {
  let last = 0
  // It doesn't wait until none are left: requests that were admitted before may list faster.
  await inBatches(async (max) => {
    const listings = await ctx.db<{ id: number }[]>`
      select id
      from listings
      where account_id = ${accountId} and status <> 'removed' and id > ${last}
      order by id
      limit ${max}
    `
    await removeListings(ctx, accountId, [...listings])
    last = listings.at(-1)?.id ?? last
    return listings.length
  }, BATCH)
}
