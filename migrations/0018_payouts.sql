-- Payouts: one per slice, created when all of its rows are received or cancelled. See docs/money.md.

-- A seller's bank account. `accounts.payout_verified` says whether it is verified.
create table payout_setups (
  account_id bigint primary key references accounts on delete cascade,
  holder text not null check (holder <> ''),
  -- Encrypted with a key derived from SECRET_KEY.
  iban bytea not null,
  iban_last4 text not null check (char_length(iban_last4) = 4),
  country text collate "C" not null,
  rejected_because text,
  -- Payouts wait until then, because the bank account was changed.
  hold_until timestamptz,
  submitted_at timestamptz not null
);

create index payout_setups_submitted on payout_setups (submitted_at, account_id);

-- A new or changed bank account that waits for its confirmation by e-mail.
create table payout_setup_changes (
  account_id bigint primary key references accounts on delete cascade,
  holder text not null check (holder <> ''),
  iban bytea not null,
  iban_last4 text not null check (char_length(iban_last4) = 4),
  country text collate "C" not null,
  token_hash text collate "C" not null,
  expires_at timestamptz not null
);

create table payout_runs (
  id bigint generated always as identity primary key,
  -- The day of a run that the sandbox makes by itself.
  day date,
  count integer not null default 0 check (count >= 0),
  total_cents bigint not null default 0 check (total_cents >= 0),
  created_at timestamptz not null,
  constraint payout_runs_daily unique (day)
);

create table payouts (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts,
  slice_id bigint not null references slices,
  amount_cents bigint not null check (amount_cents >= 0),
  -- The part of earlier payouts that the seller had to give back, taken out of this one.
  deducted_cents bigint not null default 0 check (deducted_cents >= 0),
  state text collate "C" not null default 'due'
    check (state in ('due', 'sent', 'paid', 'failed')),
  -- The reason of a failure. Of a payout that is due: the operator's reason to hold it.
  reason text,
  -- Appears on the bank statement.
  reference text collate "C" not null default 'CS' || upper(left(
    replace(gen_random_uuid()::text, '-', ''), 18
  )),
  -- The latest posting of its transfer. Later postings of the slice are not part of the payout.
  posting_id bigint references postings,
  created_at timestamptz not null,
  sent_at timestamptz,
  paid_at timestamptz,
  constraint payouts_one_per_slice unique (slice_id),
  constraint payouts_reference unique (reference),
  constraint payouts_sent_whole check (
    state not in ('sent', 'paid') or num_nonnulls(posting_id, sent_at) = 2
  ),
  constraint payouts_paid_when check ((state = 'paid') = (paid_at is not null)),
  constraint payouts_failed_why check (state <> 'failed' or reason is not null)
);

create index payouts_account on payouts (account_id, id);
create index payouts_state on payouts (state, id);
create index payouts_failed on payouts (account_id) where state = 'failed';

-- The content of a run's file. A payout that failed is transferred again by a later run, under another reference.
create table payout_transfers (
  run_id bigint not null references payout_runs,
  payout_id bigint not null references payouts,
  account_id bigint not null references accounts,
  reference text collate "C" not null,
  amount_cents bigint not null check (amount_cents > 0),
  -- The bank account at that time, encrypted as in `payout_setups`.
  holder text not null,
  iban bytea not null,
  primary key (run_id, payout_id),
  constraint payout_transfers_reference unique (reference)
);

create trigger payout_transfers_append_only
before update or delete or truncate on payout_transfers
for each statement execute function refuse_change();

-- The part of a payout that the seller has to give back, because a refund followed it.
alter table slices
add column owed_cents bigint not null default 0 check (owed_cents >= 0);

create index slices_owed on slices (account_id, id) where owed_cents > 0;

alter table postings
drop constraint postings_kind_check,
add constraint postings_kind_check check (
  kind in (
    'sale', 'shipping', 'refund', 'cancellation', 'shipping_refund',
    'payout', 'payout_failed', 'recovery'
  )
);

-- Slices that were completed before there were payouts may have been paid already.
insert into payouts (account_id, slice_id, amount_cents, reason, created_at)
select
  p.account_id,
  p.slice_id,
  sum(p.seller_cents),
  'The order was completed before the service kept payouts. Mark it as paid if it was.',
  max(p.created_at)
from postings p
where
  not exists (
    select from orders o
    where o.slice_id = p.slice_id and o.status in ('pending', 'shipped', 'disputed')
  )
group by p.account_id, p.slice_id
having sum(p.seller_cents) > 0
order by max(p.created_at), p.slice_id;
