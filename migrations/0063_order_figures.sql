-- Syncs and figures of a shop with millions of order rows read few rows besides their own, and most of them in an index
-- alone. The old indexes are dropped at the end, because that locks out readers.

-- With the status, a walk in the order of changes leaves the rows of other statuses out without reading them. The other
-- columns are those that a seller's tier adds up.
create index orders_changes_with_facts on orders (account_id, updated_at, id)
  include (status, shipped_at, price_cents, quantity);

-- The rows to sync are mostly those that changed last. Most rows are received, and a sync of these meets few others.
create index orders_not_received on orders (account_id, status, updated_at, id)
  where status <> 'received';

-- With the facts that the sales of a period add up.
create index orders_newest_with_facts on orders (account_id, created_at, id)
  include (status, price_cents, quantity, commission_cents);

create index listings_changes_with_status on listings (account_id, updated_at, id) include (status)
  where status <> 'removed';

-- An index cannot tell whether a row that has changed since the last vacuum is visible, so the row is read as well. By
-- default, a vacuum waits until a fifth of the rows have changed, which takes months in a large market.
alter table orders set (
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.02
);

drop index orders_changes;
alter index orders_changes_with_facts rename to orders_changes;
drop index orders_newest;
alter index orders_newest_with_facts rename to orders_newest;
drop index listings_changes;
alter index listings_changes_with_status rename to listings_changes;
