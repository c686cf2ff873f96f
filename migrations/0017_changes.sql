-- The change feed of the tools API (docs/change-feed.md): which listings and orders of a seller changed, and in which
-- transaction.

-- The sellers whose software follows the feed. Nothing is written for others.
create table change_followers (
  account_id bigint primary key references accounts on delete cascade,
  -- A cursor is of one registration: between two of them, changes are missing.
  registration bigint not null generated always as identity,
  -- The last read, at most a day ago. Registrations that nobody reads are deleted.
  read_at timestamptz not null
);

create index change_followers_read on change_followers (read_at);

create table changes (
  -- Readers wait until all earlier transactions have ended, so that none appears behind their position.
  xid xid8 not null default pg_current_xact_id(),
  id bigint not null generated always as identity,
  account_id bigint not null,
  kind text collate "C" not null check (kind in ('listing', 'order')),
  record_id bigint not null,
  change text collate "C" not null check (change in ('created', 'updated', 'deleted')),
  -- Real time, for pruning: the feed shows no time.
  created_at timestamptz not null default clock_timestamp()
);

create index changes_account on changes (account_id, xid, id);
create index changes_created on changes (created_at);

-- Triggers write the feed, so that no statement can change a record without it. They run once per statement: without
-- followers, that is one look into an empty table.
create function write_changes() returns trigger language plpgsql as $$
begin
  if tg_table_name = 'listings' then
    insert into changes (account_id, kind, record_id, change)
    select
      c.account_id, 'listing', c.id,
      case
        when tg_op = 'DELETE' or c.status = 'removed' then 'deleted'
        when tg_op = 'INSERT' then 'created'
        else 'updated'
      end
    from changed c
    where c.account_id in (select account_id from change_followers)
    order by c.id;
  else
    insert into changes (account_id, kind, record_id, change)
    select
      c.account_id, 'order', c.id, case when tg_op = 'INSERT' then 'created' else 'updated' end
    from changed c
    where c.account_id in (select account_id from change_followers)
    order by c.id;
  end if;
  return null;
end
$$;

create trigger listings_feed_new after insert on listings
  referencing new table as changed
  for each statement execute function write_changes();

create trigger listings_feed_change after update on listings
  referencing new table as changed
  for each statement execute function write_changes();

create trigger listings_feed_delete after delete on listings
  referencing old table as changed
  for each statement execute function write_changes();

create trigger orders_feed_new after insert on orders
  referencing new table as changed
  for each statement execute function write_changes();

create trigger orders_feed_change after update on orders
  referencing new table as changed
  for each statement execute function write_changes();

-- Bulk loads often set session_replication_role to replica, which skips other triggers.
alter table listings enable always trigger listings_feed_new;
alter table listings enable always trigger listings_feed_change;
alter table listings enable always trigger listings_feed_delete;
alter table orders enable always trigger orders_feed_new;
alter table orders enable always trigger orders_feed_change;
