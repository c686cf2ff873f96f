import { beforeAll, expect, it } from 'vitest'
import { SCOPES } from '../keys/scopes.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import { cardItem, list } from '../test/fixtures/listings.ts'
import { grantAccess } from '../test/fixtures/oauth.ts'
import { act, buy, cancel, openShop, ship } from '../test/fixtures/orders.ts'
import { inTransaction } from './in-transaction.ts'

let app: TestApp
/** Makes an order row of each status, a payout that is paid out and one that is due, a review, and an erased buyer. */
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture' })
  const seller = await openShop(app)
  const [listing] = (await list(seller, cardItem({ price: 10, quantity: 20 }))) as [number]
  const sell = async (name: string) => {
    const sale = await buy(app, [[listing, 1]], {
      buyer: { name, email: `${name}@mail.example` },
    })
    return sale.orderIds[0]!
  }
  const send = async (name: string) => {
    const order = await sell(name)
    await ship(seller, order, { tracking_code: 'CODE' })
    return order
  }
  const receive = async (name: string) => {
    const order = await send(name)
    await act(app, order, 'receive')
    return order
  }
  await receive('ash')
  await act(app, await receive('misty'), 'review', { stars: 3 })
  await app.operator.post('/operator/v1/payout-runs')
  await receive('brock')
  await act(app, await send('oak'), 'dispute')
  await send('gary')
  await cancel(app, await sell('erika'))
  await sell('jessie')
  const payload = { email: 'erika@mail.example' }
  await app.operator.post('/operator/v1/buyers/erase', { payload })
  await openShop(app)
  await grantAccess(app, seller.accountId)
})

const ACCOUNTS = ['buyers', 'seller', 'commission', 'shipping', 'refunds', 'payouts']
const ROW_KINDS = ['sale', 'refund', 'cancellation']

/** A posting about the first sold row with these cents in two ledger accounts. */
const posting = (kind: string, from: string, to: string) => `
  insert into postings (
    kind, account_id, slice_id, order_id, ${from}_cents, ${to}_cents, created_at
  )
  select
    '${kind}', account_id, slice_id, ${ROW_KINDS.includes(kind) ? 'order_id' : 'null'}, -100, 100,
    created_at
  from postings
  where kind = 'sale'
  limit 1
`

/** The first posting of a kind once more. */
const repeated = (kind: string) => `
  insert into postings (
    kind, account_id, slice_id, order_id, created_at, ${ACCOUNTS.map((of) => `${of}_cents`)}
  )
  select kind, account_id, slice_id, order_id, created_at, ${ACCOUNTS.map((of) => `${of}_cents`)}
  from postings
  where kind = '${kind}'
  limit 1
`

it.each([
  ['a sale that pays the buyer', 'postings_fit_kind', posting('sale', 'seller', 'buyers')],
  ['shipping that is commission', 'postings_fit_kind', posting('shipping', 'buyers', 'commission')],
  ['a refund that the buyer pays', 'postings_fit_kind', posting('refund', 'refunds', 'seller')],
  [
    'a cancellation that is paid out',
    'postings_fit_kind',
    posting('cancellation', 'seller', 'payouts'),
  ],
  [
    'a refund of shipping out of the commission',
    'postings_fit_kind',
    posting('shipping_refund', 'commission', 'refunds'),
  ],
  ['a payout that the seller pays', 'postings_fit_kind', posting('payout', 'payouts', 'seller')],
  [
    'a failed payout that the seller receives',
    'postings_fit_kind',
    posting('payout_failed', 'seller', 'payouts'),
  ],
  [
    'a recovery that the seller receives',
    'postings_fit_kind',
    posting('recovery', 'seller', 'payouts'),
  ],
  ['a second sale of a row', 'postings_sold_once', repeated('sale')],
  ['second shipping of a slice', 'postings_shipping_once', repeated('shipping')],
  [
    'a payout that was posted as another one',
    'payouts_one_per_posting',
    'update payouts set posting_id = (select min(posting_id) from payouts)',
  ],
  [
    'a transfer of a payout to another seller',
    'payout_transfers_to_own_account',
    `
      insert into payout_transfers (
        run_id, payout_id, account_id, reference, amount_cents, holder, iban
      )
      select run_id, p.id, (select max(id) from accounts), p.reference, p.amount_cents, holder, iban
      from payouts p, payout_transfers
      where p.state = 'due'
      limit 1
    `,
  ],
  [
    'a due payout of nothing',
    'payouts_due_amount',
    `update payouts set amount_cents = 0 where state = 'due'`,
  ],
  [
    'a received row that was not shipped',
    'orders_shipped_when',
    `update orders set status = 'received', received_at = created_at where status = 'pending'`,
  ],
  [
    'a disputed row that was not shipped',
    'orders_shipped_when',
    `update orders set shipped_at = null where status = 'disputed'`,
  ],
  [
    'a pending row that was shipped',
    'orders_pending_without_times',
    `update orders set status = 'pending' where status = 'shipped'`,
  ],
  [
    'a commission above the price',
    'orders_commission_within_price',
    `update orders set commission_cents = price_cents + 1 where quantity = 1`,
  ],
  [
    'a cancelled row whose price was not all refunded',
    'orders_cancelled_are_refunded',
    `update orders set refunded_cents = refunded_cents - 1 where status = 'cancelled'`,
  ],
  [
    'a dispute without time for an answer',
    'disputes_time_to_answer',
    'update disputes set answer_by = opened_at',
  ],
  ...[`buyer_name = 'Erika'`, `buyer_email = 'erika@mail.example'`, `address = '{}'`].map(
    (kept) => [
      `an erased checkout with ${kept}`,
      'checkouts_erased_whole',
      `update checkouts set ${kept} where erased_at is not null`,
    ],
  ),
  ...['api_keys', 'oauth_grants'].map((table) => [
    `an unknown scope in ${table}`,
    `${table}_known_scopes`,
    `update ${table} set scopes = scopes || 'orders:delete'::text`,
  ]),
  [
    'a month of invoices that begins later',
    'invoice_months_first_day',
    `insert into invoice_months (month, issued_at) values ('2026-10-31', now())`,
  ],
  [
    'a fee invoice of a month that begins later',
    'fee_invoices_first_day',
    `
      insert into fee_invoices (month, number, account_id, commission_cents)
      select '2026-10-31', 1, min(id), 5 from accounts
    `,
  ],
  [
    'a balance of a month that begins later',
    'month_balances_first_day',
    `
      insert into month_balances (account_id, month, cents)
      select min(id), '2026-10-31', 5 from accounts
    `,
  ],
  [
    'a run of tiers for a month that begins later',
    'tier_runs_first_day',
    `insert into tier_runs (month, ran_at) values ('2026-10-31', now())`,
  ],
  [
    'a day with fewer than no entries in the ledger',
    'ledger_days_entries_check',
    `insert into ledger_days values ('2020-01-01', 'sale', -1, 0, 0, 0, 0, 0)`,
  ],
  [
    'a seller with fewer than no entries in the ledger',
    'ledger_accounts_entries_check',
    `insert into ledger_accounts select min(id), 'none', -1, 0 from accounts`,
  ],
  ...[0, 6].map((stars) => [
    `one review with ${stars} stars`,
    'accounts_review_stars_of_count',
    `update accounts set review_stars = ${stars} where review_count = 1`,
  ]),
])('the database refuses %s', async (_, constraint, statement) => {
  const writing = inTransaction(app.ctx, async ({ db }) => {
    await db.unsafe(statement!)
    throw new Error('The database accepted it.')
  })
  await expect(writing).rejects.toMatchObject({ constraint_name: constraint })
})

it.each(['api_keys', 'oauth_grants'])(
  'the known scopes of %s are those of the service',
  async (table) => {
    const [constraint] = await app.ctx.db<[{ text: string }]>`
    select pg_get_constraintdef(oid) as text
    from pg_constraint
    where conname = ${`${table}_known_scopes`}
  `
    const known = [...constraint.text.matchAll(/'([^']+)'/g)].map(([, scope]) => scope)
    expect(known).toEqual(SCOPES)
  },
)
