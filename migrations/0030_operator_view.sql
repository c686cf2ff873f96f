-- What the operator looks up: e-mails and events of a slice, rows by buyer or status, listings by item or status.

-- Without a foreign key: these rows are deleted long before slices, and checkouts write many of them.
alter table mails add column slice_id bigint;
alter table events add column slice_id bigint;
-- The operator's reason for taking a listing down.
alter table listings add column removed_because text;
alter table listings add constraint listings_removed_with_reason
check (removed_because is null or status = 'removed');

create index mails_slice on mails (slice_id, id) where slice_id is not null;
create index mails_recipient on mails (lower(recipient), id);
create index events_slice on events (slice_id, id) where slice_id is not null;
create index checkouts_buyer on checkouts (lower(buyer_email));
create index orders_of_status on orders (status, id);
create index orders_created on orders using brin (created_at);
create index listings_of_card on listings (card_id, id) where card_id is not null;
create index listings_of_product on listings (product_slug, id) where product_slug is not null;
-- Most listings are active: a page of them is found without an index of its own.
create index listings_not_active on listings (status, id) where status <> 'active';
create index shipments_newest on shipments (created_at, slice_id);
