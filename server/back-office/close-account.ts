import type { Account } from '../accounts/account.ts'
import { getAccount } from '../accounts/accounts.ts'
import type { Context } from '../context.ts'
import { inBatches } from '../database/batches.ts'
import { placeOfPage } from '../database/counts.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { OPEN_STATUSES } from '../enums.ts'
import { type ApiError, afterFirstCommit, conflict } from '../errors.ts'
import { markRemoved } from '../listings/remove-listings.ts'
import { endGrantsOfAccount } from '../oauth/grants.ts'
import { removeEndpoints } from '../webhooks/endpoints.ts'

/** Listings that one transaction removes. */
const BATCH = 1_000

/**
 * Closes an account: removes its listings, revokes its keys, and deletes its endpoints and members. Its orders, payouts
 * and ledger stay. Nothing is removed before the account is closed. A large shop's listings are removed in several
 * transactions; a second call continues after an interruption. The account can list cards again when `changeAccount`
 * enables its API access, or when it has a new member.
 *
 * @throws not_found, conflict while orders are open, payouts are unpaid, or the seller owes money, or if the account is
 *   opened again meanwhile
 */
export async function closeAccount(ctx: Context, id: number): Promise<Account> {
  await getAccount(ctx, id)
  const refusal = (await refusalFor(ctx, id)) ?? (await markClosed(ctx, id))
  if (refusal) throw refusal
  return afterFirstCommit(async () => {
    await lockOut(ctx, id)
    await removeAllListings(ctx, id)
    return requireClosed(ctx, id)
  })
}

/**
 * Marks an account as closed, so that nothing of it is sold, listed or created any more. If a checkout that was admitted
 * before has sold a listing, the account is open again, unless it was closed already or another call has closed it.
 *
 * @returns the reason why the account stays open; undefined if it is closed
 */
async function markClosed(ctx: Context, id: number): Promise<ApiError | undefined> {
  const [closed] = await inTransaction(ctx, async (tx) => setClosed(tx, id))
  return inTransaction(ctx, async (tx) => {
    const { db } = tx
    // Waits for checkouts, listings and keys that have read the former state: they lock the account before they write. New
    // ones see the state that is committed now, so the wait ends in a busy shop as well. The transaction locks nothing else,
    // because sales that have locked other rows wait for this lock.
    await db`select from accounts where id = ${id} for update`
    const refusal = await refusalFor(tx, id)
    // A member who was invited meanwhile has opened the account.
    if (!refusal) await setClosed(tx, id)
    else if (closed) {
      await db`
        update accounts set closed_at = null where id = ${id} and closed_at = ${closed.closedAt}
      `
    }
    return refusal
  })
}

/** Returns nothing for an account that is closed already. */
const setClosed = ({ db, now }: Context, id: number) => db<{ closedAt: Date }[]>`
  update accounts
  set closed_at = ${now()}
  where id = ${id} and closed_at is null
  returning closed_at as "closedAt"
`

/** Revokes the keys of a closed account, and deletes its endpoints and members. */
const lockOut = (ctx: Context, id: number): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const { db, now, signal } = tx
    await db`select from accounts where id = ${id} for no key update`
    await requireClosed(tx, id)
    await db`update accounts set api_access = 'disabled' where id = ${id} and api_access <> 'suspended'`
    await db`
      update api_keys set revoked_at = ${now()} where account_id = ${id} and revoked_at is null
    `
    await removeEndpoints(tx, id)
    // A password reset locks the member before the grants that it ends.
    await db`select from members where account_id = ${id} order by id for update`
    await endGrantsOfAccount(tx, id)
    // They are about keys and listings that are gone.
    await db`delete from notices where account_id = ${id}`
    // Their sessions are deleted with them.
    await db`delete from members where account_id = ${id}`
    await signal('keys', id)
  })

/** @throws conflict if the account was opened again */
async function requireClosed(ctx: Context, id: number): Promise<Account> {
  const account = await getAccount(ctx, id)
  if (!account.closedAt) throw conflict('The account was opened again while it was being closed.')
  return account
}

/** The reason why an account can't be closed now. */
async function refusalFor({ db }: Context, id: number): Promise<ApiError | undefined> {
  const [row] = await db<{ isOpen: boolean; isDue: boolean; hasFailed: boolean; owes: boolean }[]>`
    select
      -- Reads the kept counts, because a large shop has millions of completed orders and of paid payouts, and where few shops
      -- have all orders, the planner would look for an open one of this shop in all of them.
      (select total from ${placeOfPage(db, 'orders', id, OPEN_STATUSES, 0)}) > 0 as "isOpen",
      (select total from ${placeOfPage(db, 'payouts', id, ['due', 'sent'], 0)}) > 0 as "isDue",
      exists (
        select from payouts where account_id = ${id} and state = 'failed' and amount_cents > 0
      ) as "hasFailed",
      exists (select from slices where account_id = ${id} and owed_cents > 0) as owes
  `
  if (row?.isOpen) return conflict('The account has open orders. Complete or cancel them first.')
  if (row?.hasFailed && row.owes)
    return conflict(
      'The account has failed payouts, and the seller owes money after refunds. Report the bank’s results of payouts that were sent. Then verify the payout setup again and run payouts: the run deducts the debt from the payouts.',
    )
  if (row?.isDue || row?.hasFailed)
    return conflict(
      'The account has payouts that are not paid. Run those that are due, and report the bank’s results of those that were sent. Mark the others as paid if they were paid otherwise.',
    )
  if (row?.owes)
    return conflict(
      'The seller owes money after refunds: sales that follow must pay for it. Disable the API access instead.',
    )
  return undefined
}

async function removeAllListings(ctx: Context, accountId: number): Promise<void> {
  let last = 0
  await inBatches(
    (max) =>
      inTransaction(ctx, async (tx) => {
        await requireClosed(tx, accountId)
        const listings = await tx.db<{ id: number }[]>`
          select id
          from listings
          where account_id = ${accountId} and status <> 'removed' and id > ${last}
          order by id
          limit ${max}
          for no key update
        `
        // Also one whose order is disputed meanwhile.
        await markRemoved(
          tx,
          accountId,
          listings.map(({ id }) => id),
        )
        last = listings.at(-1)?.id ?? last
        return listings.length
      }),
    BATCH,
  )
}
