-- A sync of one status reads few rows that have another one. The old indexes are dropped at the end, because that locks out
-- readers.

-- With the status, a walk in the order of changes leaves the rows of other statuses out without reading them.
create index orders_changes_with_facts on orders (account_id, updated_at, id) include (status);

-- The rows to sync are mostly those that changed last. Most rows are received, and a sync of these meets few others.
create index orders_not_received on orders (account_id, status, updated_at, id)
  where status <> 'received';

create index listings_changes_with_status on listings (account_id, updated_at, id) include (status)
  where status <> 'removed';

drop index orders_changes;
alter index orders_changes_with_facts rename to orders_changes;
drop index listings_changes;
alter index listings_changes_with_status rename to listings_changes;
