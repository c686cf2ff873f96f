-- Facts about order rows that only the seller's own software, the dashboard and the operator see. Adding them rewrites
-- the table, which takes seconds for a million rows.

alter table orders
  -- The reason that the seller gave; the operator and the service give none.
  add column cancel_reason text collate "C"
    check (cancel_reason in ('out_of_stock', 'buyer_asked', 'other')),
  -- The end of the last dispute.
  add column resolved_at timestamptz,
  -- The last change that has no time of its own: tracking, or a partial refund.
  add column changed_at timestamptz,
  -- The last change of the row. It is derived, so a statement that sets one of the times can't forget it.
  add column updated_at timestamptz not null generated always as (
    greatest(
      created_at, shipped_at, received_at, cancelled_at, disputed_at, resolved_at, changed_at
    )
  ) stored,
  add constraint orders_reason_of_a_cancellation
    check (cancel_reason is null or cancelled_at is not null);

-- Clients read the rows changed since their last visit, in the order of their changes.
create index orders_changes on orders (account_id, updated_at, id);
