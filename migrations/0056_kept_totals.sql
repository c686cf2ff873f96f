-- Kept numbers for the totals of payouts and shipments, like those of listings and orders, and kept sums of the ledger and
-- the audit log, to which jobs add the new rows (docs/counts.md). Stop processes of earlier versions first: they would
-- delete old entries of the audit log without subtracting them.

-- A shipment is counted while it is bought or in doubt. Its list needs no position, so its key is always 0.
create or replace view counted_rows as
select
  'listings'::text collate "C" as subject,
  account_id,
  count_block('listings', id, created_at) as block,
  (status = 'active')::int as n1,
  (status = 'sold')::int as n2,
  (status = 'hidden')::int as n3,
  (status = 'removed')::int as n4,
  0 as n5
from listings
union all
select
  'orders',
  account_id,
  count_block('orders', id, created_at),
  (status = 'pending')::int,
  (status = 'shipped')::int,
  (status = 'received')::int,
  (status = 'cancelled')::int,
  (status = 'disputed')::int
from orders
union all
select
  'payouts',
  account_id,
  count_block('payouts', id, created_at),
  (state = 'due')::int,
  (state = 'sent')::int,
  (state = 'paid')::int,
  (state = 'failed')::int,
  0
from payouts
union all
select
  'shipments',
  s.account_id,
  0,
  1,
  0,
  0,
  0,
  0
from shipments sh
join slices s on s.id = sh.slice_id
where sh.state = 'bought' or sh.in_doubt;

-- In the triggers of an insert, the fields of `old` are null, and in those of a deletion, the fields of `new`.
create function write_payout_delta() returns trigger language plpgsql as $$
begin
  insert into count_deltas
  values (
    'payouts',
    coalesce(new.account_id, old.account_id),
    count_block('payouts', coalesce(new.id, old.id), null),
    coalesce((new.state = 'due')::int, 0) - coalesce((old.state = 'due')::int, 0),
    coalesce((new.state = 'sent')::int, 0) - coalesce((old.state = 'sent')::int, 0),
    coalesce((new.state = 'paid')::int, 0) - coalesce((old.state = 'paid')::int, 0),
    coalesce((new.state = 'failed')::int, 0) - coalesce((old.state = 'failed')::int, 0),
    0
  );
  return null;
end
$$;

create trigger payouts_count after insert or delete or update of state on payouts
  for each row execute function write_payout_delta();

create trigger payouts_count_truncate after truncate on payouts
  for each statement execute function clear_counts('payouts');

create function write_shipment_delta() returns trigger language plpgsql as $$
declare
  change integer :=
    coalesce((new.state = 'bought' or new.in_doubt)::int, 0)
    - coalesce((old.state = 'bought' or old.in_doubt)::int, 0);
begin
  insert into count_deltas
  select
    'shipments',
    account_id,
    0,
    change,
    0,
    0,
    0,
    0
  from slices
  where id = coalesce(new.slice_id, old.slice_id) and change <> 0;
  return null;
end
$$;

create trigger shipments_count after insert or delete or update of state, in_doubt on shipments
  for each row execute function write_shipment_delta();

create trigger shipments_count_truncate after truncate on shipments
  for each statement execute function clear_counts('shipments');

alter table payouts enable always trigger payouts_count;
alter table payouts enable always trigger payouts_count_truncate;
alter table shipments enable always trigger shipments_count;
alter table shipments enable always trigger shipments_count_truncate;

-- Counting millions of rows takes longer than the time limit of the program's statements.
set local statement_timeout = 0;

select recount('payouts');
select recount('shipments');

-- Sums of the postings with ids below the one in `posting_count_state`.
create table ledger_days (
  day date,
  kind text collate "C",
  entries bigint not null,
  buyers_cents bigint not null,
  commission_cents bigint not null,
  shipping_cents bigint not null,
  refunds_cents bigint not null,
  payouts_cents bigint not null,
  primary key (day, kind)
);

create table ledger_accounts (
  account_id bigint references accounts,
  kind text collate "C",
  entries bigint not null,
  seller_cents bigint not null,
  primary key (account_id, kind)
);

create table posting_count_state (
  is_only boolean primary key default true check (is_only),
  counted_to bigint not null default 0,
  -- The ids below it can be counted when all transactions below `seen_in` have ended.
  seen_to bigint not null default 0 check (seen_to >= counted_to),
  seen_in xid8 not null default '0'
);
insert into posting_count_state default values;

-- A total with a period reads the rest of a day by this index. New rows join it at once, not with the next vacuum.
alter index postings_created set (autosummarize = on);

-- The number of entries of the audit log with a value in a field: 'actor', 'role' or 'action'; 'all' has one value.
create table audit_counts (
  field text collate "C",
  value text collate "C",
  number bigint not null,
  primary key (field, value)
);

create table audit_count_state (
  is_only boolean primary key default true check (is_only),
  counted_to bigint not null default 0,
  -- As above.
  seen_to bigint not null default 0 check (seen_to >= counted_to),
  seen_in xid8 not null default '0'
);
insert into audit_count_state default values;
