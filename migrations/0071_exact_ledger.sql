-- Refuses rows that contradict docs/money.md and the specification. No version has written one. Constraints of rows that
-- change are checked for the rows of today as well, because PostgreSQL would refuse later changes of a wrong row. Rows of
-- the other tables never change, so their constraints are NOT VALID: a row that was entered by hand stops nothing. The
-- indexes come first, because the other statements lock out readers.

-- The statement that inserts an order row or a slice has always inserted its posting, once.
create unique index postings_sold_once on postings (order_id) where kind = 'sale';
create unique index postings_shipping_once on postings (slice_id) where kind = 'shipping';

-- Each transfer of a payout has had a posting of its own.
create unique index payouts_one_per_posting on payouts (posting_id) where posting_id is not null;

-- Replaces the index on the same columns, so that transfers can refer to both.
create unique index payouts_of_account on payouts (account_id, id);

-- A transfer is a copy of its payout. All are checked, because the new key replaces one that was.
alter table payout_transfers
  add constraint payout_transfers_to_own_account
    foreign key (payout_id, account_id) references payouts (id, account_id),
  drop constraint payout_transfers_payout_id_fkey;

drop index payouts_account;
alter index payouts_of_account rename to payouts_account;

-- Payouts without an amount have always been deleted, failed or paid.
alter table payouts
  add constraint payouts_due_amount check (state <> 'due' or amount_cents > 0);

-- The ledger never changes.
alter table postings
  add constraint postings_fit_kind check (
    case kind
      when 'sale' then
        buyers_cents < 0 and seller_cents >= 0 and commission_cents >= 0
        and shipping_cents = 0 and refunds_cents = 0 and payouts_cents = 0
      when 'shipping' then
        buyers_cents < 0 and seller_cents >= 0 and shipping_cents >= 0
        and commission_cents = 0 and refunds_cents = 0 and payouts_cents = 0
      when 'refund' then
        refunds_cents > 0 and seller_cents <= 0 and commission_cents <= 0
        and buyers_cents = 0 and shipping_cents = 0 and payouts_cents = 0
      -- After a partial refund, the seller or the marketplace can get something back.
      when 'cancellation' then
        refunds_cents >= 0 and buyers_cents = 0 and shipping_cents = 0 and payouts_cents = 0
      when 'shipping_refund' then
        refunds_cents > 0 and seller_cents <= 0 and shipping_cents <= 0
        and buyers_cents = 0 and commission_cents = 0 and payouts_cents = 0
      when 'payout' then
        seller_cents < 0 and payouts_cents = -seller_cents
        and buyers_cents = 0 and commission_cents = 0 and shipping_cents = 0 and refunds_cents = 0
      else
        seller_cents > 0 and payouts_cents = -seller_cents
        and buyers_cents = 0 and commission_cents = 0 and shipping_cents = 0 and refunds_cents = 0
    end
  ) not valid;

-- The transitions and the amounts of order rows have been the same since the first sale. Times are not compared, because
-- the clocks of several services differ.
alter table orders
  drop constraint orders_shipped_when,
  add constraint orders_shipped_when check (
    status not in ('shipped', 'received', 'disputed') or shipped_at is not null
  ),
  add constraint orders_pending_without_times check (
    status <> 'pending' or num_nonnulls(shipped_at, received_at, disputed_at) = 0
  ),
  add constraint orders_commission_within_price check (
    commission_cents <= price_cents::bigint * quantity
  ),
  add constraint orders_cancelled_are_refunded check (
    status <> 'cancelled' or refunded_cents = price_cents::bigint * quantity
  );

-- Both times come from the same reading of the clock.
alter table disputes
  add constraint disputes_time_to_answer check (answer_by > opened_at);

-- No statement changes an erased checkout.
alter table checkouts
  add constraint checkouts_erased_whole check (
    erased_at is null or (buyer_name = '' and buyer_email = '' and address is null)
  ) not valid;

-- The scopes of server/keys/scopes.ts, which have been the same since the first key.
alter table api_keys
  add constraint api_keys_known_scopes check (
    scopes <@ array[
      'catalog:read', 'listings:read', 'listings:write', 'orders:read', 'orders:write', 'webhooks:manage'
    ]
  );
alter table oauth_grants
  add constraint oauth_grants_known_scopes check (
    scopes <@ array[
      'catalog:read', 'listings:read', 'listings:write', 'orders:read', 'orders:write', 'webhooks:manage'
    ]
  );

-- Months never change. Operators enter some by hand (docs/money.md).
alter table invoice_months
  add constraint invoice_months_first_day check (extract(day from month) = 1) not valid;
alter table fee_invoices
  add constraint fee_invoices_first_day check (extract(day from month) = 1) not valid;
alter table month_balances
  add constraint month_balances_first_day check (extract(day from month) = 1) not valid;
alter table tier_runs
  add constraint tier_runs_first_day check (extract(day from month) = 1) not valid;

-- Nothing is ever subtracted from these. audit_counts has no such constraint: an earlier version could leave entries out
-- of it, and the job that deletes old entries must not fail because it subtracts them.
alter table ledger_days add constraint ledger_days_entries_check check (entries >= 0);
alter table ledger_accounts add constraint ledger_accounts_entries_check check (entries >= 0);

-- Both sums have always changed in one statement, with the review locked.
alter table accounts
  add constraint accounts_review_stars_of_count check (
    review_stars between review_count and 5 * review_count::bigint
  );
