-- The ledger: double-entry, in whole cents, append-only. A row is a posting: all of its entries, one column per ledger
-- account. So the database can check without a trigger that every posting sums to zero.

create table postings (
  id bigint generated always as identity primary key,
  kind text collate "C" not null
    check (kind in ('sale', 'shipping', 'refund', 'cancellation', 'shipping_refund')),
  -- The seller, whose ledger account `seller_cents` is an entry of.
  account_id bigint not null references accounts,
  slice_id bigint not null references slices,
  -- null if the posting is about the whole slice.
  order_id bigint references orders,
  buyers_cents bigint not null default 0,
  seller_cents bigint not null default 0,
  commission_cents bigint not null default 0,
  shipping_cents bigint not null default 0,
  refunds_cents bigint not null default 0,
  payouts_cents bigint not null default 0,
  -- The operator's reason for a refund.
  reason text,
  created_at timestamptz not null,
  constraint postings_sum_to_zero check (
    buyers_cents + seller_cents + commission_cents + shipping_cents + refunds_cents + payouts_cents
    = 0
  ),
  constraint postings_of_a_row check (
    (kind in ('sale', 'refund', 'cancellation')) = (order_id is not null)
  )
);

-- The postings of a slice. A seller's postings by time.
create index postings_slice on postings (slice_id, id);
create index postings_account on postings (account_id, created_at, id);
create index postings_created on postings using brin (created_at);
create unique index postings_cancelled_once on postings (order_id) where kind = 'cancellation';
create unique index postings_shipping_refunded_once on postings (slice_id)
where kind = 'shipping_refund';

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'Rows of % never change: a correction is a new row.', tg_table_name;
end
$$;

create trigger postings_append_only
before update or delete or truncate on postings
for each statement execute function refuse_change();

-- The sales so far, in the order in which they happened.
insert into postings (
  kind, account_id, slice_id, order_id, buyers_cents, seller_cents, commission_cents,
  shipping_cents, refunds_cents, created_at
)
select
  kind, account_id, slice_id, order_id, buyers_cents, seller_cents, commission_cents,
  shipping_cents, refunds_cents, created_at
from (
  select
    1 as step, 'sale' as kind, account_id, slice_id, id as order_id,
    -price_cents::bigint * quantity as buyers_cents,
    price_cents::bigint * quantity - commission_cents as seller_cents,
    commission_cents,
    0 as shipping_cents,
    0 as refunds_cents,
    created_at
  from orders
  union all
  select
    2, 'shipping', account_id, id, null,
    -shipping_cents,
    case when fulfilment = 'self_ship' then shipping_cents else 0 end,
    0,
    case when fulfilment = 'self_ship' then 0 else shipping_cents end,
    0,
    created_at
  from slices
  where shipping_cents > 0
  union all
  select
    3, 'cancellation', account_id, slice_id, id,
    0,
    commission_cents - price_cents::bigint * quantity,
    -commission_cents,
    0,
    price_cents::bigint * quantity,
    cancelled_at
  from orders
  where status = 'cancelled'
  union all
  select
    4, 'shipping_refund', s.account_id, s.id, null,
    0,
    case when s.fulfilment = 'self_ship' then -s.shipping_cents else 0 end,
    0,
    case when s.fulfilment = 'self_ship' then 0 else -s.shipping_cents end,
    s.shipping_cents,
    o.cancelled_at
  from slices s
  join (
    select slice_id, max(cancelled_at) as cancelled_at
    from orders
    group by slice_id
    having bool_and(status = 'cancelled')
  ) o on o.slice_id = s.id
  where s.shipping_cents > 0
) posting
order by created_at, slice_id, step, order_id;
