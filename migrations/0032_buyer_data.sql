-- Erased data of buyers. A checkout without this time still has its buyer's name and addresses.
alter table checkouts add column erased_at timestamptz;
create index checkouts_not_erased on checkouts (created_at, id) where erased_at is null;
