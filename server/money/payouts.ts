import { centsFromEuros, eurosFromCents } from '../cents.ts'
import type { Context } from '../context.ts'
import { ALL_SELLERS, placeOfPage } from '../database/counts.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { type Page, readNewestPage } from '../database/paging.ts'
import type { Db, Fragment } from '../database/sql.ts'
import { OPEN_STATUSES } from '../enums.ts'
import { type ApiError, conflict, notFound } from '../errors.ts'
import { sendMail } from '../mail/outbox.ts'
import { payoutFailedEmail } from './emails.ts'
import { postedAt } from './ledger.ts'
import {
  PAYOUT_STATES,
  type Payout,
  type PayoutDeduction,
  type PayoutLine,
  type PayoutState,
} from './payout.ts'
import { getSetup, repeatIfAccountChanged } from './payout-setup.ts'

/** The reason of a payout that was refunded between a failed transfer and the next one. */
const USED_UP =
  'The bank returned the transfer, and refunds used up the amount before the next one.'

/** The reason of a payout whose transfer failed before that of an earlier payout of the slice did. */
const MOVED =
  'The bank returned the transfer, and an earlier payout of the order contains the amount now.'

/**
 * Brings the payouts of these slices up to date with the ledger. A slice whose rows are all received or cancelled gets
 * its payout, if the seller earned anything. The amount of a payout follows the ledger until it is sent. A refund after
 * that makes the slice owe, and the next run deducts the debt from the seller's other payouts. If the slice is owed
 * again after that, another payout follows. If several payouts are not sent, the first has the whole amount. A payout
 * of which nothing is left is deleted, unless a transfer or another payment of it has failed: that is part of the bank's
 * history, so the payout has failed.
 *
 * The caller holds the locks of the slices.
 */
export async function settleSlices({ db, now }: Context, sliceIds: number[]): Promise<void> {
  // A failed payout becomes due again without the lock of its slice. Only a statement that starts with the payouts locked
  // sees that.
  await db`
    select from payouts
    where slice_id = any(${sliceIds}::bigint[]) and state in ('due', 'failed')
    order by id
    for no key update
  `
  await db`
    with settled as (
      select
        p.slice_id,
        p.account_id,
        sum(p.seller_cents)::bigint as cents,
        not exists (
          select from orders o
          where o.slice_id = p.slice_id and o.status = any(${[...OPEN_STATUSES]}::text[])
        ) as is_complete
      from postings p
      where p.slice_id = any(${sliceIds}::bigint[])
      group by p.slice_id, p.account_id
    ),
    unsent as (
      select p.*, case when p.is_first then greatest(settled.cents, 0) else 0 end as cents
      from settled
      join (
        select
          id,
          slice_id,
          row_number() over (partition by slice_id order by id) = 1 as is_first,
          -- A payment outside of the service has a posting and no transfer.
          posting_id is not null
            or exists (select from payout_transfers where payout_id = payouts.id) as was_sent
        from payouts
        where
          slice_id = any(${sliceIds}::bigint[])
          and (state = 'due' or state = 'failed' and amount_cents > 0)
      ) p on p.slice_id = settled.slice_id
    ),
    created as (
      insert into payouts (account_id, slice_id, amount_cents, created_at)
      select account_id, slice_id, cents, ${now()}
      from settled
      where
        is_complete and cents > 0
        and not exists (select from unsent where unsent.slice_id = settled.slice_id)
      order by slice_id
    ),
    changed as (
      update payouts p
      set amount_cents = unsent.cents
      from unsent
      where
        p.id = unsent.id
        and (p.state = 'failed' or unsent.cents > 0)
        and p.amount_cents <> unsent.cents
    ),
    used_up as (
      update payouts p
      set
        state = 'failed',
        reason = case when unsent.is_first then ${USED_UP} else ${MOVED} end,
        amount_cents = 0
      from unsent
      where p.id = unsent.id and p.state = 'due' and unsent.cents = 0 and unsent.was_sent
    ),
    emptied as (
      delete from payouts p
      using unsent
      where p.id = unsent.id and p.state = 'due' and unsent.cents = 0 and not unsent.was_sent
    )
    update slices s
    set owed_cents = greatest(-settled.cents, 0)
    from settled
    where s.id = settled.slice_id and s.owed_cents <> greatest(-settled.cents, 0)
  `
}

/** The seller's debt after refunds of a slice. Payouts of other slices pay it. */
export async function owedFor({ db }: Context, sliceId: number): Promise<number> {
  const [slice] = await db<{ cents: number }[]>`
    select owed_cents as cents from slices where id = ${sliceId}
  `
  return slice!.cents
}

/** A seller's debt after refunds of all slices. The next runs deduct it. */
export async function owedBy({ db }: Context, accountId: number): Promise<number> {
  const [slices] = await db<{ cents: number }[]>`
    select coalesce(sum(owed_cents), 0)::bigint as cents
    from slices
    where account_id = ${accountId} and owed_cents > 0
  `
  return slices!.cents
}

const STORED_STATES = PAYOUT_STATES.filter((state) => state !== 'held')

export type PayoutFilters = {
  accountId?: number | undefined
  state?: PayoutState | undefined
  /** The payout's own, or that of a former transfer. */
  reference?: string | undefined
  sliceKey?: string | undefined
  /** A run that transferred the payout, also if another run has transferred it since. */
  runId?: number | undefined
}

/** One page of payouts, newest first, and the total. */
export function listPayouts(
  ctx: Context,
  { accountId, state, reference, sliceKey, runId }: PayoutFilters,
  page: Page,
): Promise<{ rows: Payout[]; total: number }> {
  const account = accountId ?? ALL_SELLERS
  const isOwn = (db: Db) => (accountId === undefined ? db`true` : db`p.account_id = ${accountId}`)
  const isStoredAsDue = state === 'due' || state === 'held'
  const read = (db: Db, ids: number[]) => readPayouts({ ...ctx, db }, ids)
  if (reference !== undefined || sliceKey !== undefined || runId !== undefined) {
    return readNewestPage(
      ctx,
      page,
      (db) => db`
        select p.id
        from payouts p
        ${heldBecause(db, ctx)}
        where
          ${isOwn(db)}
          ${
            reference === undefined
              ? db``
              : db`
                  and p.id = coalesce(
                    (select id from payouts where reference = ${reference}),
                    (select payout_id from payout_transfers where reference = ${reference})
                  )
                `
          }
          ${
            sliceKey === undefined
              ? db``
              : db`and p.slice_id = (select id from slices where slice_key = ${sliceKey})`
          }
          ${
            runId === undefined
              ? db``
              : db`and p.id in (select payout_id from payout_transfers where run_id = ${runId})`
          }
          ${state === undefined ? db`` : db`and p.state = ${isStoredAsDue ? 'due' : state}`}
          ${state === 'due' ? db`and held.reason is null` : db``}
          ${state === 'held' ? db`and held.reason is not null` : db``}
      `,
      read,
    )
  }
  if (!isStoredAsDue) {
    const states = state === undefined ? STORED_STATES : [state]
    const { offset, perPage } = page
    return ctx.begin(async (db) => {
      const found = await db<{ total: number; id: number | null }[]>`
        select total, id
        from ${placeOfPage(db, 'payouts', account, states, offset)} place
        -- An outer join, because a page past the end has a total as well.
        left join lateral (
          select id
          from payouts p
          where
            ${isOwn(db)}
            ${state === undefined ? db`` : db`and p.state = ${state}`}
            and id < coalesce(until, 9223372036854775807)
          order by id desc
          -- The limit is at most the number of rows that are left, so no older payouts are searched for one more.
          limit greatest(least(${perPage}, total - ${offset}), 0)
          offset skipped_there
        ) listed on true
        order by id desc
      `
      const ids = found.flatMap(({ id }) => id ?? [])
      return { rows: await read(db, ids), total: found[0]!.total }
    }, 'snapshot')
  }
  const payable = (db: Db) => payableIds(db, ctx, accountId, db`offset 0`)
  // Runs take those that are due, so there are few to count.
  if (state === 'due') return readNewestPage(ctx, page, payable, read)
  // The others in the stored state `due` are held.
  return readNewestPage(
    ctx,
    page,
    (db) => db`
      select id from payouts p where ${isOwn(db)} and state = 'due'
      except
      ${payable(db)}
    `,
    read,
    (db) => db`
      select total - (select count(*) from (${payable(db)}) due) as total
      from ${placeOfPage(db, 'payouts', account, ['due'], 0)}
    `,
  )
}

/** One payout with its lines. @throws not_found */
export async function getPayout(ctx: Context, id: number): Promise<Payout> {
  const [payout] = await ctx.begin((db) => readPayouts({ ...ctx, db }, [id]), 'snapshot')
  if (!payout) throw payoutNotFound()
  return payout
}

export const payoutNotFound = () => notFound('There is no such payout.')

async function readPayouts(ctx: Context, ids: number[]): Promise<Payout[]> {
  const { db } = ctx
  const [payouts, lines, deductions] = await Promise.all([
    db<
      (Omit<Payout, 'lines' | 'deductions'> & {
        deductedCents: number
        owedCents: number
        isOnly: boolean
      })[]
    >`
      select
        p.id,
        p.account_id as "accountId",
        s.slice_key as "sliceKey",
        p.amount_cents as "amountCents",
        p.deducted_cents as "deductedCents",
        case when p.state = 'failed' then s.owed_cents else 0 end as "owedCents",
        not exists (
          select from payouts other
          where other.slice_id = p.slice_id and other.id <> p.id
        ) as "isOnly",
        case when held.reason is null then p.state else 'held' end as state,
        coalesce(held.reason, p.reason) as reason,
        p.state = 'due' and p.reason is not null as "isToCheck",
        p.reference,
        p.created_at as "createdAt",
        p.sent_at as "sentAt",
        p.paid_at as "paidAt"
      from payouts p
      join slices s on s.id = p.slice_id
      ${heldBecause(db, ctx)}
      where p.id = any(${ids}::bigint[])
      order by array_position(${ids}::bigint[], p.id)
    `,
    db<LineRow[]>`
      select
        p.id,
        e.order_id as "orderId",
        e.kind = 'recovery' as "isRecovery",
        coalesce(-sum(e.buyers_cents) filter (where e.kind = 'sale'), 0)::bigint as "grossCents",
        coalesce(
          case
            when not bool_or(e.kind = 'cancellation')
              then sum(e.commission_cents) filter (where e.kind = 'sale')
          end,
          0
        )::bigint as "commissionCents",
        sum(e.seller_cents)::bigint as "sellerCents"
      from payouts p
      join postings e on e.slice_id = p.slice_id
      where
        p.id = any(${ids}::bigint[])
        and e.kind not in ('payout', 'payout_failed')
        and (p.state in ('due', 'failed') or e.id < p.posting_id)
        -- The lines of a slice are those of its first payout.
        and not exists (
          select from payouts earlier
          where earlier.slice_id = p.slice_id and earlier.id < p.id
        )
      group by p.id, e.order_id, e.kind = 'recovery'
      order by e.order_id, e.kind = 'recovery'
    `,
    db<(PayoutDeduction & { id: number })[]>`
      select
        d.payout_id as id,
        s.slice_key as "sliceKey",
        d.order_ids as "orderIds",
        d.amount_cents as cents
      from payout_deductions d
      join postings p on p.id = d.posting_id
      join slices s on s.id = p.slice_id
      where d.payout_id = any(${ids}::bigint[])
      order by d.payout_id, d.posting_id
    `,
  ])
  const byPayout = Map.groupBy(lines, ({ id }) => id)
  const deductionsOf = Map.groupBy(deductions, ({ id }) => id)
  return payouts.map(({ deductedCents, owedCents, isOnly, ...payout }) => {
    const earned = (byPayout.get(payout.id) ?? [])
      .map(lineOf)
      .filter((line) => line.orderId !== null || line.shippingCents + line.refundsCents !== 0)
    // Refunds after the failure exceed the payout: another one pays for the rest. With several payouts of the slice, the
    // line is the part that the others paid, or what is paid back after it was deducted.
    const elsewhere = isOnly ? -owedCents : totalOf(earned) - deductedCents - payout.amountCents
    return {
      ...payout,
      lines: [
        ...earned,
        ...[deductedCents, elsewhere]
          .filter((cents) => cents !== 0)
          .map((refundsCents) => ({ ...NO_LINE, refundsCents })),
      ],
      deductions: deductionsOf.get(payout.id) ?? [],
    }
  })
}

/** The sum of the lines: what the seller gets for them. */
const totalOf = (lines: PayoutLine[]): number =>
  lines.reduce(
    (sum, { grossCents, commissionCents, refundsCents, shippingCents }) =>
      sum + grossCents - commissionCents - refundsCents + shippingCents,
    0,
  )

const NO_LINE = {
  orderId: null,
  grossCents: 0,
  commissionCents: 0,
  refundsCents: 0,
  shippingCents: 0,
}

/** A line as the query reads it: `sellerCents` is all that the seller got from its postings. */
type LineRow = Omit<PayoutLine, 'refundsCents' | 'shippingCents'> & {
  id: number
  isRecovery: boolean
  sellerCents: number
}

function lineOf({
  orderId,
  isRecovery,
  grossCents,
  commissionCents,
  sellerCents,
}: LineRow): PayoutLine {
  // A refund after this payout was recovered from another payout. Now that this one has failed, its lines contain the
  // refund, and this line gives back what was recovered already.
  if (isRecovery) return { ...NO_LINE, refundsCents: -sellerCents }
  if (orderId === null) return { ...NO_LINE, shippingCents: sellerCents }
  const refundsCents = grossCents - commissionCents - sellerCents
  return { orderId, grossCents, commissionCents, refundsCents, shippingCents: 0 }
}

/** The reason why a payout `p` that is due is held, as `held.reason`; null if a run takes it. */
export const heldBecause = (db: Db, ctx: Pick<Context, 'now' | 'config'>) => db`
  left join accounts a on a.id = p.account_id
  left join payout_setups setup on setup.account_id = p.account_id
  cross join lateral (
    select
      case
        when p.state <> 'due' then null
        when p.reason is not null then p.reason
        when exists (
          select from orders o where o.slice_id = p.slice_id and o.status = 'disputed'
        ) then 'An item of the order is disputed.'
        else ${sellerReason(db, ctx)}
      end as reason
  ) held
`

/** The reason why all payouts of an account `a` with the setup `setup` are held. */
const sellerReason = (db: Db, { now, config }: Pick<Context, 'now' | 'config'>) => db`
  case
    when not a.payout_verified then 'The payout setup is not verified.'
    when setup.hold_until > ${now()} then 'The bank account was changed less than 48 hours ago.'
    when setup.account_id is null and not ${config.sandbox} then
      'The seller has not entered a bank account.'
  end
`

/**
 * SQL that selects the ids of the payouts that are due and not held (heldBecause), in any order. It visits only sellers
 * whom a run can pay: the payouts of others may be due for years.
 *
 * @param part further conditions, and the part of each seller's payouts to select
 */
export const payableIds = (
  db: Db,
  ctx: Pick<Context, 'now' | 'config'>,
  accountId: number | undefined,
  part: Fragment,
): Fragment => db`
  select p.id
  from (
    select a.id
    from accounts a
    left join payout_setups setup on setup.account_id = a.id
    where
      ${sellerReason(db, ctx)} is null
      ${accountId === undefined ? db`` : db`and a.id = ${accountId}`}
    -- OFFSET keeps this out of the join, which could read the payouts first.
    offset 0
  ) seller
  cross join lateral (
    select id
    from payouts
    where
      account_id = seller.id
      and state = 'due'
      and reason is null
      -- A subquery instead of NOT EXISTS: it is read once, and not for each seller.
      and slice_id not in (
        select slice_id
        from orders
        where status = 'disputed' ${accountId === undefined ? db`` : db`and account_id = ${accountId}`}
      )
      ${part}
  ) p
`

/**
 * Records that the bank has executed a payout, or that the operator has transferred one outside of the service.
 *
 * @param reference of the transfer that was executed; a payout that failed is transferred again under another one
 * @param amount in decimal euros, that the caller has seen or transferred: refunds change that of a payout that is not sent
 * @param isOutside set for a transfer outside of the service; a payout that the operator had to check needs none. A failed
 *   payout is paid only with it: a report of the bank that is repeated late is about the transfer that was returned
 * @throws not_found, conflict unless the payout is sent or waits for the operator, or with `isOutside` unless it is due or
 *   failed; conflict if its reference or its amount has changed
 */
export const markPaid = (
  ctx: Context,
  id: number,
  {
    reference,
    amount,
    isOutside = false,
  }: {
    reference?: string | undefined
    amount?: number | undefined
    isOutside?: boolean | undefined
  } = {},
): Promise<Payout> =>
  inTransaction(ctx, async (tx) => {
    const payout = await lockPayout(tx, id)
    requireReference(payout, reference)
    const isUnsent = payout.state === 'due' || (payout.state === 'failed' && payout.amountCents > 0)
    const isToCheck = payout.state === 'due' && payout.reason !== null
    const isNewPayment = isOutside ? isUnsent : isToCheck
    if (!isNewPayment && isOutside) {
      throw await stateConflict(tx, id, 'due, held or failed, with an amount that is left to pay')
    }
    if (!isNewPayment && payout.state !== 'sent') {
      const wanted = isUnsent
        ? 'sent. If it was paid outside of the service, send `outside`'
        : 'sent'
      throw await stateConflict(tx, id, wanted)
    }
    requireAmount(payout, amount)
    if (isNewPayment) {
      // A late report about the returned transfer must not fail this payment.
      await tx.db`
        update payouts set reference = default where id = ${id} and state = 'failed'
      `
      await postPayouts(tx, [id])
    }
    await tx.db`
      update payouts set state = 'paid', paid_at = ${tx.now()}, reason = null where id = ${id}
    `
    return (await readPayouts(tx, [id]))[0]!
  })

/**
 * Records that the bank has returned a payout. The seller is owed the amount again, and the payout becomes due when the
 * seller changes the bank account, or at once if that has happened since the transfer.
 *
 * @param reference of the transfer that was returned: a report that is repeated late can't fail the next transfer.
 *   A payment outside of the service can't be returned without it: the report may be about an earlier transfer
 * @throws not_found, conflict unless the payout is sent or paid, or if its reference has changed
 */
export const markFailed = (
  ctx: Context,
  id: number,
  { reason, reference }: { reason: string; reference?: string | undefined },
): Promise<Payout> =>
  inTransaction(ctx, async (tx) => {
    const payout = await lockPayout(tx, id)
    requireReference(payout, reference)
    if (payout.state !== 'sent' && payout.state !== 'paid') {
      throw await stateConflict(tx, id, 'sent or paid')
    }
    if (payout.amountCents === 0) {
      throw conflict('The payout had no transfer: earlier refunds took all of it.')
    }
    if (reference === undefined && !(await hasTransfer(tx, payout))) {
      throw conflict(
        'The payout was paid outside of the service, so the bank can’t return a transfer of it. If your own payment was returned, send the `reference` that the payout has now.',
      )
    }
    await tx.db`
      insert into postings (
        kind, account_id, slice_id, seller_cents, payouts_cents, created_at
      )
      values (
        'payout_failed', ${payout.accountId}, ${payout.sliceId}, ${payout.amountCents},
        ${-payout.amountCents}, ${postedAt(tx)}
      )
    `
    await tx.db`
      update payouts set state = 'failed', paid_at = null, reason = ${reason} where id = ${id}
    `
    await settleSlices(tx, [payout.sliceId])
    await repeatIfAccountChanged(tx, payout, payout.reference)
    // If several payouts of the slice are not sent, the first has the whole amount.
    const [left] = await tx.db<{ cents: number; isDue: boolean }[]>`
      select
        sum(amount_cents)::bigint as cents,
        bool_or(state = 'due' and amount_cents > 0) as "isDue"
      from payouts
      where slice_id = ${payout.sliceId} and state in ('due', 'failed')
    `
    const mail = payoutFailedEmail(tx, payout, {
      reason,
      leftCents: left!.cents,
      goesTo: left!.isDue ? await getSetup(tx, payout.accountId) : undefined,
    })
    await sendMail(tx, mail, { sliceId: payout.sliceId })
    return (await readPayouts(tx, [id]))[0]!
  })

/**
 * Releases a payout that the operator has to check, so that the next run takes it.
 *
 * @throws not_found, conflict unless the payout waits for the operator
 */
export const releasePayout = (ctx: Context, id: number): Promise<Payout> =>
  inTransaction(ctx, async (tx) => {
    const payout = await lockPayout(tx, id)
    if (payout.state !== 'due') throw await stateConflict(tx, id, 'held')
    if (payout.reason === null) {
      const [{ state, reason }] = (await readPayouts(tx, [id])) as [Payout]
      throw conflict(
        state === 'held'
          ? `The payout is held until this changes: ${reason}`
          : 'The payout is due: the next run takes it.',
      )
    }
    await tx.db`update payouts set reason = null where id = ${id}`
    return (await readPayouts(tx, [id]))[0]!
  })

type LockedPayout = {
  id: number
  sliceId: number
  accountId: number
  amountCents: number
  state: string
  reason: string | null
  reference: string
  shopName: string
  email: string
  isClosed: boolean
}

/**
 * Locks the slice of a payout, its account, and then the payout. A change of the account waits for its failed payouts, and
 * the posting of a payment locks the account: that comes first. The lock of the account also keeps a change of the bank
 * account from missing a payout that is failing.
 *
 * @throws not_found
 */
async function lockPayout({ db }: Context, id: number): Promise<LockedPayout> {
  await db`
    select
    from slices s
    join accounts a on a.id = s.account_id
    where s.id = (select slice_id from payouts where id = ${id})
    for no key update of s
    for share of a
  `
  const [payout] = await db<LockedPayout[]>`
    select
      p.id,
      p.slice_id as "sliceId",
      p.account_id as "accountId",
      p.amount_cents as "amountCents",
      p.state,
      p.reason,
      p.reference,
      a.shop_name as "shopName",
      a.email,
      a.closed_at is not null as "isClosed"
    from payouts p
    join accounts a on a.id = p.account_id
    where p.id = ${id}
    for no key update of p
  `
  if (!payout) throw payoutNotFound()
  return payout
}

/** Whether a run has transferred the payout under its present reference. */
async function hasTransfer({ db }: Context, { id, reference }: LockedPayout): Promise<boolean> {
  const transfers = await db`
    select from payout_transfers where payout_id = ${id} and reference = ${reference}
  `
  return transfers.length > 0
}

/** @throws conflict if the caller means another transfer than the payout's current one */
function requireReference(payout: LockedPayout, reference: string | undefined): void {
  if (reference === undefined || reference === payout.reference) return
  throw conflict(
    `The payout’s current transfer has the reference ${payout.reference}, not ${reference}.`,
  )
}

/** @throws conflict if the caller has seen another amount than the payout's current one */
function requireAmount({ amountCents }: LockedPayout, seen: number | undefined): void {
  if (seen === undefined || centsFromEuros(seen) === amountCents) return
  const amount = eurosFromCents(amountCents).toFixed(2)
  throw conflict(`The payout’s amount is ${amount} EUR by now. Check how much the seller was paid.`)
}

/** The error about a payout whose state forbids an operation. It names the state that the API shows, such as `held`. */
async function stateConflict(ctx: Context, id: number, wanted: string): Promise<ApiError> {
  const [{ state }] = (await readPayouts(ctx, [id])) as [Payout]
  return conflict(`The payout is ${state}; this requires it to be ${wanted}.`)
}

/** Posts the transfers of payouts, and marks the payouts as sent. The caller holds the locks. */
export async function postPayouts({ db, now }: Context, ids: number[]): Promise<void> {
  await db`
    with posted as (
      insert into postings (
        kind, account_id, slice_id, seller_cents, payouts_cents, created_at
      )
      select 'payout', account_id, slice_id, -amount_cents, amount_cents, ${postedAt({ db, now })}
      from payouts
      where id = any(${ids}::bigint[])
      order by id
      returning id, slice_id
    )
    update payouts
    set state = 'sent', sent_at = ${now()}, posting_id = posted.id
    from posted
    -- At most one payout of a slice is due.
    where payouts.id = any(${ids}::bigint[]) and payouts.slice_id = posted.slice_id
  `
}
