-- Disputes: a buyer's report of a problem with an order row, the seller's answer, and the decision. See docs/after-sale.md.

create table disputes (
  id bigint generated always as identity primary key,
  order_id bigint not null references orders,
  account_id bigint not null references accounts,
  reason text collate "C" not null
    check (reason in ('not_received', 'not_as_described', 'damaged', 'other')),
  -- The buyer's words.
  message text,
  opened_at timestamptz not null,
  -- The seller should have answered by then.
  answer_by timestamptz not null,
  answer text,
  -- Links, which the service never fetches.
  photo_urls text[],
  answered_at timestamptz,
  resolution text collate "C" check (resolution in ('seller', 'buyer')),
  -- The refund that the resolution made.
  refund_cents bigint check (refund_cents >= 0),
  resolved_at timestamptz,
  constraint disputes_answered_whole check (
    num_nonnulls(answer, photo_urls, answered_at) in (0, 3)
  ),
  constraint disputes_resolved_whole check (
    num_nonnulls(resolution, refund_cents, resolved_at) in (0, 3)
  )
);

-- The disputes of a row, of a seller, and those without a decision.
create index disputes_order on disputes (order_id, id);
create index disputes_account on disputes (account_id, id);
create unique index disputes_one_open on disputes (order_id) where resolved_at is null;
create index disputes_unresolved on disputes (account_id, id) where resolved_at is null;

-- The disputes that are open already.
insert into disputes (order_id, account_id, reason, opened_at, answer_by)
select id, account_id, 'other', disputed_at, disputed_at + interval '120 hours'
from orders
where status = 'disputed'
order by disputed_at, id;
