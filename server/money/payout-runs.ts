import type { Context } from '../context.ts'
import { sealText, unsealText } from '../crypto/sealed.ts'
import { atOneTime, inTransaction } from '../database/in-transaction.ts'
import { type Page, readPage } from '../database/paging.ts'
import { conflict, notFound } from '../errors.ts'
import type { NewMail } from '../mail/mail.ts'
import { sendMails } from '../mail/outbox.ts'
import { dayOf } from '../time/day-of.ts'
import { payoutSentEmail } from './emails.ts'
import { postedAt } from './ledger.ts'
import { testBankAccount } from './payout-setup.ts'
import { heldBecause, payableIds, postPayouts } from './payouts.ts'
import { type CreditTransfers, creditTransferFile } from './sepa-file.ts'

/** Transfers of all payouts that one run took. */
export type PayoutRun = { id: number; count: number; totalCents: number }

/** One page of all runs, newest first, and their number. */
export const listRuns = (
  ctx: Context,
  page: Page,
): Promise<{ rows: (PayoutRun & { createdAt: Date })[]; total: number }> =>
  readPage(ctx, page, (db) => ({
    total: db<{ total: number }[]>`select count(*) as total from payout_runs`,
    rows: ({ size, skipped, fromEnd }) => db<(PayoutRun & { createdAt: Date })[]>`
      select id, count, total_cents as "totalCents", created_at as "createdAt"
      from payout_runs
      order by id ${fromEnd ? db`` : db`desc`}
      limit ${size}
      offset ${skipped}
    `,
  }))

/** Fits into the time limit of a transaction, and into the file size that banks accept. */
const MAX_PAYOUTS = 5_000

/**
 * Takes up to 5,000 payouts that are due and not held, and records their transfers. Concurrent runs never take the same
 * payout. The file (payoutFile) instructs the bank.
 *
 * @throws conflict if the marketplace's own bank account is not configured, or a seller's can't be decrypted
 */
export function runPayouts(ctx: Context): Promise<PayoutRun> {
  const { name, iban } = requireOwnAccount(ctx)
  return inTransaction(ctx, async (transaction) => {
    const tx = atOneTime(transaction)
    const now = tx.now()
    const [run] = await tx.db<{ id: number }[]>`
      insert into payout_runs (debtor_name, debtor_iban, created_at)
      values (${name}, ${iban}, ${now})
      returning id
    `
    return takePayouts(tx, run!.id, now)
  })
}

/**
 * Stands in for the bank in the sandbox: once a day of the test clock, runs the payouts of earlier days and marks them
 * as paid. Several processes may call it at once.
 */
export async function runSandboxPayouts(context: Context): Promise<void> {
  if (!context.config.sandbox) return
  const ctx = atOneTime(context)
  const now = ctx.now()
  const day = dayOf(now)
  const [done] = await ctx.db`select from payout_runs where day = ${day}`
  if (done) return
  const own = ownAccount(ctx)
  await inTransaction(ctx, async (tx) => {
    const [run] = await tx.db<{ id: number }[]>`
      insert into payout_runs (day, debtor_name, debtor_iban, created_at)
      values (${day}, ${own?.name ?? null}, ${own?.iban ?? null}, ${now})
      on conflict (day) do nothing
      returning id
    `
    if (!run) return
    await takePayouts(tx, run.id, new Date(`${day}T00:00:00Z`))
    await tx.db`
      update payouts
      set state = 'paid', paid_at = ${now}
      where id in (select payout_id from payout_transfers where run_id = ${run.id})
    `
  })
}

type DuePayout = {
  id: number
  sliceId: number
  accountId: number
  amountCents: number
  reference: string
  shopName: string
  email: string
  holder: string | null
  iban: Buffer | null
}

/**
 * Locks up to 5,000 payouts that are due and not held, oldest first, and their slices. It skips those that another
 * transaction has locked.
 */
async function lockPayouts(tx: Context, before: Date): Promise<number[]> {
  const { db } = tx
  const locked: number[] = []
  for (let last = 0, isMore = true; isMore; ) {
    // Each seller's first payouts are enough, however many follow.
    const part = db`
      and created_at <= ${before}
      and id > ${last}
      order by id
      limit ${MAX_PAYOUTS}
    `
    const found = await db<{ id: number }[]>`
      ${payableIds(db, tx, undefined, part)}
      order by p.id
      limit ${MAX_PAYOUTS}
    `
    const rows = await db<{ id: number }[]>`
      select p.id
      from payouts p
      join slices s on s.id = p.slice_id
      where p.id = any(${found.map(({ id }) => id)}::bigint[]) and p.state = 'due'
      order by p.id
      limit ${MAX_PAYOUTS - locked.length}
      for no key update of p, s skip locked
    `
    locked.push(...rows.map(({ id }) => id))
    last = found.at(-1)?.id ?? last
    isMore = found.length === MAX_PAYOUTS && locked.length < MAX_PAYOUTS
  }
  return locked
}

/** @param before takes only payouts that were created before or at this time */
async function takePayouts(tx: Context, runId: number, before: Date): Promise<PayoutRun> {
  const { db } = tx
  const locked = await lockPayouts(tx, before)
  // Only a statement that starts with the locks held sees every dispute and refund committed before.
  const due = await db<DuePayout[]>`
    select
      p.id,
      p.slice_id as "sliceId",
      p.account_id as "accountId",
      p.amount_cents as "amountCents",
      p.reference,
      a.shop_name as "shopName",
      a.email,
      setup.holder,
      setup.iban
    from payouts p
    ${heldBecause(db, tx)}
    where p.id = any(${locked}::bigint[]) and p.state = 'due' and held.reason is null
    order by p.id
  `
  const deductions = await deductDebts(tx, due)
  const sent = due.filter(({ amountCents }) => amountCents > 0)
  await db`
    update payouts
    set state = 'paid', paid_at = ${tx.now()}
    where id = any(${due.map(({ id }) => id)}::bigint[]) and amount_cents = 0
  `
  await db`
    insert into payout_transfers (
      run_id, payout_id, account_id, reference, amount_cents, holder, iban
    )
    select ${runId}, id, account_id, reference, amount_cents, holder, iban
    from jsonb_to_recordset(${db.json(sent.map((payout) => transferOf(tx, payout)))}) as transfer (
      id bigint, account_id bigint, reference text, amount_cents bigint, holder text, iban bytea
    )
    order by id
  `
  const run = {
    id: runId,
    count: sent.length,
    totalCents: sent.reduce((sum, { amountCents }) => sum + amountCents, 0),
  }
  await db`
    update payout_runs
    set count = ${run.count}, total_cents = ${run.totalCents}
    where id = ${runId}
  `
  await sendMails(tx, emailsAbout(tx, due, deductions))
  return run
}

/**
 * The transfer of a payout, as the database stores it.
 *
 * @throws conflict if the IBAN can't be decrypted: the bank's file could not be written
 */
function transferOf(ctx: Context, payout: DuePayout) {
  const { id, accountId, reference, amountCents } = payout
  const transfer = { id, account_id: accountId, reference, amount_cents: amountCents }
  const { holder, iban } = payout
  if (holder !== null && iban !== null) {
    readIban(ctx, accountId, iban)
    return { ...transfer, holder, iban: hex(iban) }
  }
  const test = testBankAccount(accountId, payout.shopName)
  const sealed = sealText(ctx.config, 'bank accounts', accountId, test.iban)
  return { ...transfer, holder: test.holder, iban: hex(sealed) }
}

/** @throws conflict if it was encrypted with another SECRET_KEY */
function readIban({ config }: Context, accountId: number, sealed: Buffer): string {
  try {
    return unsealText(config, 'bank accounts', accountId, sealed)
  } catch {
    throw conflict(
      `The bank account of seller ${accountId} was encrypted with another SECRET_KEY. Start the service with that key.`,
    )
  }
}

const hex = (bytes: Buffer) => `\\x${bytes.toString('hex')}`

function emailsAbout(ctx: Context, due: DuePayout[], deductions: Deduction[]): NewMail[] {
  const deductionsBy = Map.groupBy(deductions, ({ accountId }) => accountId)
  return [...Map.groupBy(due, ({ accountId }) => accountId)].map(([accountId, payouts]) => ({
    ...payoutSentEmail(
      ctx,
      payouts[0]!,
      payouts.filter(({ amountCents }) => amountCents > 0),
      deductionsBy.get(accountId) ?? [],
    ),
    accountId,
  }))
}

type Debt = { sliceId: number; accountId: number; cents: number }

/** A debt, or the part of it that a run deducts, with the order rows whose refunds caused it. */
type Deduction = Debt & { orderIds: number[] }

/** Debts that one statement locks: a seller may owe for many more orders than the payouts can pay. */
const DEBTS = 1_000

/** Locks the next debts of these sellers after a slice, oldest first. */
const lockDebts = ({ db }: Context, accountIds: number[], after: number): Promise<Debt[]> => db<
  Debt[]
>`
  select id as "sliceId", account_id as "accountId", owed_cents as cents
  from slices
  where owed_cents > 0 and account_id = any(${accountIds}::bigint[]) and id > ${after}
  order by id
  limit ${DEBTS}
  for no key update skip locked
`

/**
 * Adds the order rows that caused the deducted debts, by the postings since the balance of the slice became negative. A refund
 * of the shipping has no row: it counts for the row of the posting before it, whose cancellation caused it.
 */
async function withOrders({ db }: Context, debts: Debt[]): Promise<Deduction[]> {
  if (debts.length === 0) return []
  const rows = await db<{ sliceId: number; orderIds: number[] }[]>`
    select slice_id as "sliceId", array_agg(distinct cause order by cause) as "orderIds"
    from (
      select
        *,
        max(case when balance >= 0 then id else 0 end) over (partition by slice_id) as paid_until
      from (
        select
          id,
          slice_id,
          kind,
          seller_cents,
          sum(seller_cents) over slice as balance,
          coalesce(order_id, lag(order_id) over slice) as cause
        from postings
        where slice_id = any(${debts.map(({ sliceId }) => sliceId)}::bigint[])
        window slice as (partition by slice_id order by id)
      ) p
    ) p
    where
      id > paid_until
      and kind in ('refund', 'cancellation', 'shipping_refund')
      and seller_cents < 0
      and cause is not null
    group by slice_id
  `
  const orderIds = new Map(rows.map((row) => [row.sliceId, row.orderIds]))
  return debts.map((debt) => ({ ...debt, orderIds: orderIds.get(debt.sliceId) ?? [] }))
}

/**
 * Posts the payouts, and deducts from them what their sellers owe after refunds of other slices. Reduces the amounts in
 * `due` to those to transfer. A debt whose slice another transaction has locked is left to the next run.
 *
 * @returns what it deducted for each debt
 */
async function deductDebts(tx: Context, due: DuePayout[]): Promise<Deduction[]> {
  const { db } = tx
  await postPayouts(
    tx,
    due.map(({ id }) => id),
  )
  const payable = Map.groupBy(due, ({ accountId }) => accountId)
  const recovered: Debt[] = []
  const deducted: { payoutId: number; sliceId: number; cents: number }[] = []
  for (let last = 0, isMore = payable.size > 0; isMore; ) {
    const debts = await lockDebts(tx, [...payable.keys()], last)
    for (const debt of debts) {
      const payouts = payable.get(debt.accountId) ?? []
      let left = debt.cents
      while (left > 0 && payouts.length > 0) {
        const payout = payouts[0]!
        const cents = Math.min(left, payout.amountCents)
        left -= cents
        payout.amountCents -= cents
        deducted.push({ payoutId: payout.id, sliceId: debt.sliceId, cents })
        if (payout.amountCents === 0) payouts.shift()
      }
      if (payouts.length === 0) payable.delete(debt.accountId)
      if (left < debt.cents) recovered.push({ ...debt, cents: debt.cents - left })
    }
    last = debts.at(-1)?.sliceId ?? last
    isMore = debts.length === DEBTS && payable.size > 0
  }
  if (recovered.length === 0) return []
  // Read before the recoveries are posted, which end the debts.
  const deductions = await withOrders(tx, recovered)
  const ordersOf = new Map(deductions.map(({ sliceId, orderIds }) => [sliceId, orderIds]))
  const parts = deducted.map(({ payoutId, sliceId, cents }) => ({
    payout_id: payoutId,
    slice_id: sliceId,
    cents,
    order_ids: ordersOf.get(sliceId)!,
  }))
  await db`
    update payouts
    set
      amount_cents = amount_cents - deducted.cents,
      deducted_cents = deducted_cents + deducted.cents
    from (
      select id, sum(cents)::bigint as cents
      from unnest(
        ${deducted.map(({ payoutId }) => payoutId)}::bigint[],
        ${deducted.map(({ cents }) => cents)}::bigint[]
      ) as part (id, cents)
      group by id
    ) deducted
    where payouts.id = deducted.id
  `
  await db`
    with recovered as (
      select *
      from unnest(
        ${recovered.map(({ sliceId }) => sliceId)}::bigint[],
        ${recovered.map(({ accountId }) => accountId)}::bigint[],
        ${recovered.map(({ cents }) => cents)}::bigint[]
      ) as recovered (slice_id, account_id, cents)
    ),
    posted as (
      insert into postings (
        kind, account_id, slice_id, seller_cents, payouts_cents, created_at
      )
      select 'recovery', account_id, slice_id, cents, -cents, ${postedAt(tx)}
      from recovered
      order by slice_id
      returning id, slice_id
    ),
    deducted as (
      insert into payout_deductions (payout_id, posting_id, amount_cents, order_ids)
      select part.payout_id, posted.id, part.cents, part.order_ids
      from jsonb_to_recordset(${db.json(parts)}) as part (
        payout_id bigint, slice_id bigint, cents bigint, order_ids bigint[]
      )
      join posted using (slice_id)
    )
    update slices
    set owed_cents = owed_cents - recovered.cents
    from recovered
    where slices.id = recovered.slice_id
  `
  return deductions
}

/**
 * Records that the bank has executed a run: each of its payouts that is still sent with its transfer is paid. One that
 * has failed stays so, and one that another run has transferred since waits for the result of that transfer.
 *
 * @returns the number of payouts that are paid now
 * @throws not_found
 */
export const markRunPaid = (ctx: Context, runId: number): Promise<number> =>
  inTransaction(ctx, async ({ db, now }) => {
    const [run] = await db`select from payout_runs where id = ${runId}`
    if (!run) throw notFound('There is no such payout run.')
    const paid = await db`
      with sent as (
        select p.id
        from payout_transfers t
        join payouts p on p.id = t.payout_id and p.reference = t.reference
        where t.run_id = ${runId} and p.state = 'sent'
        order by p.id
        for no key update of p
      )
      update payouts
      set state = 'paid', paid_at = ${now()}, reason = null
      from sent
      where payouts.id = sent.id
      returning payouts.id
    `
    return paid.length
  })

/**
 * The file that instructs the bank: a SEPA credit transfer, pain.001.001.09. It stays the same for a run, whatever
 * happens to its payouts and whatever the settings are by then.
 *
 * @throws not_found for an unknown run and for one without transfers, conflict if a seller's bank account can't be
 *   decrypted, or if the run names no account to debit and none is configured
 */
export async function payoutFile(ctx: Context, runId: number): Promise<string> {
  const { db } = ctx
  const [[run], payouts] = await Promise.all([
    db<{ createdAt: Date; name: string | null; iban: string | null }[]>`
      select created_at as "createdAt", debtor_name as name, debtor_iban as iban
      from payout_runs
      where id = ${runId} and count > 0
    `,
    db<
      { accountId: number; amountCents: number; reference: string; holder: string; iban: Buffer }[]
    >`
      select
        account_id as "accountId", amount_cents as "amountCents", reference, holder, iban
      from payout_transfers
      where run_id = ${runId}
      order by payout_id
    `,
  ])
  if (!run) throw notFound('There is no such payout run, or it has no transfers.')
  const transfers: CreditTransfers['transfers'] = payouts.map((payout) => ({
    reference: payout.reference,
    amountCents: payout.amountCents,
    name: payout.holder,
    iban: readIban(ctx, payout.accountId, payout.iban),
  }))
  return creditTransferFile({
    id: `CARDSTALL-${runId}-${run.createdAt.getTime().toString(36).toUpperCase()}`,
    createdAt: run.createdAt,
    debtor:
      run.name !== null && run.iban !== null
        ? { name: run.name, iban: run.iban }
        : requireOwnAccount(ctx),
    transfers,
  })
}

/** The marketplace's own bank account. @throws conflict if it is not configured */
function requireOwnAccount(ctx: Context): { name: string; iban: string } {
  const own = ownAccount(ctx)
  if (!own) throw conflict('Set PAYOUT_NAME and PAYOUT_IBAN to run payouts.')
  return own
}

function ownAccount({ config }: Context): { name: string; iban: string } | undefined {
  const { payoutName: name, payoutIban: iban } = config
  return name === undefined || iban === undefined ? undefined : { name, iban }
}
