-- The numbers of a seller's order rows, and of all sellers' rows, are kept like those of listings, in the same tables
-- (docs/counts.md). Stop processes of earlier versions first: their pages of listings use the tables that this replaces.

drop trigger listings_count_new on listings;
drop trigger listings_count_change on listings;
drop trigger listings_count_delete on listings;
drop trigger listings_count_truncate on listings;
drop function write_deltas_of_new_listings();
drop function write_delta_of_changed_listing();
drop function write_delta_of_deleted_listing();
drop function clear_listing_counts();
drop function recount_listings(bigint[]);
drop function page_of_listings(bigint, text, bigint);
drop table listing_counts;
drop table listing_count_deltas;

-- The lists of all sellers' rows are in the order of their pages, and so is each seller's list.
drop index orders_created;
drop index orders_of_status;
create index orders_created on orders (created_at, id);
create index orders_of_status on orders (status, created_at, id);

-- Numbers of rows of a range of keys. Levels 0, 1 and 2 have ranges of 2^8, 2^14 and 2^20; `block` is the key divided by
-- that. The key of a listing is its id, that of an order row the second of its creation: a list is in the order of keys.
--
-- Account 0 stands for all sellers. It has all levels; a seller with few rows has only level 2.
create table counts (
  subject text collate "C" not null,
  account_id bigint not null,
  level smallint not null,
  block bigint not null,
  -- One number for each status, in the order of the arguments of the triggers below.
  n1 integer not null,
  n2 integer not null,
  n3 integer not null,
  n4 integer not null,
  n5 integer not null,
  primary key (subject, account_id, level, block)
);

-- Changes of the numbers of a range of 2^8 keys, written with their cause. A recurring job adds them to `counts`; until
-- then a reader adds them itself. So writers never wait for each other.
create table count_deltas (
  subject text collate "C" not null,
  account_id bigint not null,
  block bigint not null,
  n1 integer not null,
  n2 integer not null,
  n3 integer not null,
  n4 integer not null,
  n5 integer not null
);

create index count_deltas_account on count_deltas (subject, account_id);

create function count_block(subject text, id bigint, created_at timestamptz) returns bigint
language sql stable as $$
  select case subject when 'orders' then floor(extract(epoch from created_at))::bigint else id end >> 8
$$;

-- Triggers write the deltas, so that no statement can change a status without them. Their arguments are the subject and
-- its statuses.
create function write_deltas_of_new_rows() returns trigger language plpgsql as $$
begin
  insert into count_deltas
  select
    tg_argv[0],
    account_id,
    count_block(tg_argv[0], id, created_at),
    count(*) filter (where status = tg_argv[1]),
    count(*) filter (where status = tg_argv[2]),
    count(*) filter (where status = tg_argv[3]),
    count(*) filter (where status = tg_argv[4]),
    count(*) filter (where status = tg_argv[5])
  from added
  group by 2, 3;
  return null;
end
$$;

create function write_delta_of_changed_row() returns trigger language plpgsql as $$
begin
  insert into count_deltas
  values (
    tg_argv[0],
    new.account_id,
    count_block(tg_argv[0], new.id, new.created_at),
    (new.status = tg_argv[1])::int - (old.status = tg_argv[1])::int,
    (new.status = tg_argv[2])::int - (old.status = tg_argv[2])::int,
    (new.status = tg_argv[3])::int - (old.status = tg_argv[3])::int,
    (new.status = tg_argv[4])::int - (old.status = tg_argv[4])::int,
    coalesce((new.status = tg_argv[5])::int - (old.status = tg_argv[5])::int, 0)
  );
  return null;
end
$$;

create function write_delta_of_deleted_row() returns trigger language plpgsql as $$
begin
  insert into count_deltas
  values (
    tg_argv[0],
    old.account_id,
    count_block(tg_argv[0], old.id, old.created_at),
    -(old.status = tg_argv[1])::int,
    -(old.status = tg_argv[2])::int,
    -(old.status = tg_argv[3])::int,
    -(old.status = tg_argv[4])::int,
    coalesce(-(old.status = tg_argv[5])::int, 0)
  );
  return null;
end
$$;

create function clear_counts() returns trigger language plpgsql as $$
begin
  delete from counts where subject = tg_argv[0];
  delete from count_deltas where subject = tg_argv[0];
  return null;
end
$$;

create trigger listings_count_new after insert on listings
  referencing new table as added
  for each statement
  execute function write_deltas_of_new_rows('listings', 'active', 'sold', 'hidden', 'removed');

create trigger listings_count_change after update of status on listings
  for each row when (old.status <> new.status)
  execute function write_delta_of_changed_row('listings', 'active', 'sold', 'hidden', 'removed');

create trigger listings_count_delete after delete on listings
  for each row
  execute function write_delta_of_deleted_row('listings', 'active', 'sold', 'hidden', 'removed');

create trigger listings_count_truncate after truncate on listings
  for each statement execute function clear_counts('listings');

create trigger orders_count_new after insert on orders
  referencing new table as added
  for each statement
  execute function write_deltas_of_new_rows(
    'orders', 'pending', 'shipped', 'received', 'cancelled', 'disputed'
  );

create trigger orders_count_change after update of status on orders
  for each row when (old.status <> new.status)
  execute function write_delta_of_changed_row(
    'orders', 'pending', 'shipped', 'received', 'cancelled', 'disputed'
  );

create trigger orders_count_delete after delete on orders
  for each row
  execute function write_delta_of_deleted_row(
    'orders', 'pending', 'shipped', 'received', 'cancelled', 'disputed'
  );

create trigger orders_count_truncate after truncate on orders
  for each statement execute function clear_counts('orders');

-- Bulk loads often set session_replication_role to replica, which skips other triggers.
alter table listings enable always trigger listings_count_new;
alter table listings enable always trigger listings_count_change;
alter table listings enable always trigger listings_count_delete;
alter table listings enable always trigger listings_count_truncate;
alter table orders enable always trigger orders_count_new;
alter table orders enable always trigger orders_count_change;
alter table orders enable always trigger orders_count_delete;
alter table orders enable always trigger orders_count_truncate;

-- The rows themselves, as they are counted.
create view counted_rows as
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
from orders;

-- Gives the other levels to those of these accounts that have more than 1,000 rows and only level 2: their rows without
-- those in deltas, which the job will add. The caller holds the job's lock (database/counts.ts).
create function add_count_levels(of_subject text, accounts bigint[]) returns void language sql as $$
  with large as (
    select account_id
    from counts
    where subject = of_subject and account_id = any(accounts)
    group by account_id
    having min(level) = 2 and sum(n1 + n2 + n3 + n4 + n5) > 1000
  ),
  counted as (
    select account_id, block, n1, n2, n3, n4, n5
    from counted_rows
    where subject = of_subject and account_id = any(array(select account_id from large))
    union all
    select account_id, block, -n1, -n2, -n3, -n4, -n5
    from count_deltas
    where subject = of_subject and account_id = any(array(select account_id from large))
  )
  insert into counts
  select
    of_subject, account_id, level, block >> (6 * level), sum(n1), sum(n2), sum(n3), sum(n4), sum(n5)
  from counted
  cross join generate_series(0, 1) as level
  group by account_id, level, block >> (6 * level);
$$;

-- Counts all rows of a subject again. The caller holds the job's lock.
create function recount(of_subject text) returns void language sql as $$
  delete from counts where subject = of_subject;

  with replaced as (
    delete from count_deltas where subject = of_subject
  ),
  blocks as (
    select
      account_id, block, sum(n1) as n1, sum(n2) as n2, sum(n3) as n3, sum(n4) as n4, sum(n5) as n5
    from counted_rows
    where subject = of_subject
    group by account_id, block
  )
  insert into counts
  select
    of_subject, account_id, level, block >> (6 * level), sum(n1), sum(n2), sum(n3), sum(n4), sum(n5)
  from (
    select account_id, 2 as level, block, n1, n2, n3, n4, n5 from blocks
    union all
    select 0, level, block, n1, n2, n3, n4, n5 from blocks cross join generate_series(0, 2) as level
  ) counted
  group by account_id, level, block >> (6 * level);

  select add_count_levels(
    of_subject,
    array(select distinct account_id from counts where subject = of_subject and account_id <> 0)
  );
$$;

-- The place of a page in a list, newest first: the rows with keys below `until`, after the first `skipped_there` of them.
-- It narrows the position down level by level. A page near the beginning needs no search: `until` is null.
--
-- `wanted` has a 1 for each status that the list shows. Stable, so that it sees the snapshot of the statement that calls
-- it.
create function page_of_counts(
  of_subject text,
  seller bigint,
  wanted integer[],
  skipped bigint,
  out total bigint,
  out until bigint,
  out skipped_there bigint
) language plpgsql stable as $$
declare
  -- The list of all sellers adds the deltas of each of them.
  last_seller bigint := case seller when 0 then 9223372036854775807 else seller end;
  w1 integer := wanted[1];
  w2 integer := wanted[2];
  w3 integer := wanted[3];
  w4 integer := wanted[4];
  w5 integer := coalesce(wanted[5], 0);
  found bigint;
  first bigint := 0;
  last bigint := 9223372036854775807;
  before bigint := 0;
begin
  select coalesce(sum(n1 * w1 + n2 * w2 + n3 * w3 + n4 * w4 + n5 * w5), 0)
  into total
  from (
    select n1, n2, n3, n4, n5
    from counts
    where subject = of_subject and account_id = seller and level = 2
    union all
    select n1, n2, n3, n4, n5
    from count_deltas
    where subject = of_subject and account_id between seller and last_seller
  ) counted;

  skipped_there := skipped;
  if skipped >= total then
    -- No key is below it.
    until := 0;
    return;
  end if;
  if
    skipped < 500
    or not exists (
      select from counts where subject = of_subject and account_id = seller and level = 0
    )
  then
    return;
  end if;

  for depth in reverse 2..0 loop
    -- `reached` is the number of rows in a block and in the newer ones.
    select max(block) filter (where reached > skipped), coalesce(max(reached) filter (where reached <= skipped), before)
    into found, before
    from (
      select
        block,
        before + sum(n1 * w1 + n2 * w2 + n3 * w3 + n4 * w4 + n5 * w5) over (order by block desc)
          as reached
      from (
        select block, n1, n2, n3, n4, n5
        from counts
        where
          subject = of_subject
          and account_id = seller
          and level = depth
          and block between first and last
        union all
        select block >> (6 * depth), n1, n2, n3, n4, n5
        from count_deltas
        where
          subject = of_subject
          and account_id between seller and last_seller
          and block >> (6 * depth) between first and last
      ) counted
    ) blocks;
    first := found << 6;
    last := first + 63;
  end loop;
  until := (found + 1) << 8;
  skipped_there := skipped - before;
end
$$;

-- Counting millions of rows takes longer than the time limit of the program's statements.
set local statement_timeout = 0;

select recount('listings');
select recount('orders');
