-- The numbers of a seller's listings, so that a page of them costs the same however many there are (docs/listing-counts.md).

-- Counts of a range of ids. Levels 0, 1 and 2 have ranges of 2^8, 2^14 and 2^20 ids; `block` is the id divided by that.
-- Each seller with listings has rows of level 2; those of a seller with few listings have no other levels.
create table listing_counts (
  account_id bigint not null,
  level smallint not null,
  block bigint not null,
  active integer not null,
  sold integer not null,
  hidden integer not null,
  primary key (account_id, level, block)
);

-- Changes of the counts of a range of 2^8 ids, written with their cause. A recurring job adds them to listing_counts;
-- until then a reader adds them itself. So writers never wait for each other.
create table listing_count_deltas (
  account_id bigint not null,
  block bigint not null,
  active integer not null,
  sold integer not null,
  hidden integer not null
);

create index listing_count_deltas_account on listing_count_deltas (account_id);

-- Triggers write the deltas, so that no statement can change a listing's status without them.
create function write_deltas_of_new_listings() returns trigger language plpgsql as $$
begin
  insert into listing_count_deltas
  select
    account_id,
    id >> 8,
    count(*) filter (where status = 'active'),
    count(*) filter (where status = 'sold'),
    count(*) filter (where status = 'hidden')
  from added
  where status <> 'removed'
  group by 1, 2;
  return null;
end
$$;

create function write_delta_of_changed_listing() returns trigger language plpgsql as $$
begin
  insert into listing_count_deltas
  values (
    new.account_id,
    new.id >> 8,
    (new.status = 'active')::int - (old.status = 'active')::int,
    (new.status = 'sold')::int - (old.status = 'sold')::int,
    (new.status = 'hidden')::int - (old.status = 'hidden')::int
  );
  return null;
end
$$;

create function write_delta_of_deleted_listing() returns trigger language plpgsql as $$
begin
  insert into listing_count_deltas
  values (
    old.account_id,
    old.id >> 8,
    -(old.status = 'active')::int,
    -(old.status = 'sold')::int,
    -(old.status = 'hidden')::int
  );
  return null;
end
$$;

create function clear_listing_counts() returns trigger language plpgsql as $$
begin
  truncate listing_counts, listing_count_deltas;
  return null;
end
$$;

create trigger listings_count_new after insert on listings
  referencing new table as added
  for each statement execute function write_deltas_of_new_listings();

create trigger listings_count_change after update of status on listings
  for each row when (old.status <> new.status) execute function write_delta_of_changed_listing();

create trigger listings_count_delete after delete on listings
  for each row when (old.status <> 'removed') execute function write_delta_of_deleted_listing();

create trigger listings_count_truncate after truncate on listings
  for each statement execute function clear_listing_counts();

-- Bulk loads often set session_replication_role to replica, which skips other triggers.
alter table listings enable always trigger listings_count_new;
alter table listings enable always trigger listings_count_change;
alter table listings enable always trigger listings_count_delete;
alter table listings enable always trigger listings_count_truncate;

-- Counts the listings of these accounts again. The caller holds the lock of the job that adds deltas
-- (listings/listing-counts.ts): the counts and the deltas that they replace must be of one snapshot.
create function recount_listings(accounts bigint[]) returns void language sql as $$
  delete from listing_counts where account_id = any(accounts);

  with replaced as (
    delete from listing_count_deltas where account_id = any(accounts)
  ),
  counted as (
    select
      account_id,
      id >> 8 as block,
      (count(*) filter (where status = 'active'))::int as active,
      (count(*) filter (where status = 'sold'))::int as sold,
      (count(*) filter (where status = 'hidden'))::int as hidden
    from listings
    where account_id = any(accounts) and status <> 'removed'
    group by 1, 2
  ),
  large as (
    select account_id
    from counted
    group by account_id
    having sum(active + sold + hidden) > 1000
  )
  insert into listing_counts
  select account_id, level, block >> (6 * level), sum(active), sum(sold), sum(hidden)
  from counted
  cross join generate_series(0, 2) as level
  where level = 2 or account_id in (select account_id from large)
  group by 1, 2, 3;
$$;

-- The place of a page in a seller's listings, newest first: those with ids below `until`, after the first `skipped_there`
-- of them. It narrows the position down level by level, and a page near the beginning needs no search.
--
-- `wanted` is a status, or null for all listings. Stable, so that it sees the snapshot of the statement that calls it.
create function page_of_listings(
  seller bigint,
  wanted text,
  skipped bigint,
  out total bigint,
  out until bigint,
  out skipped_there bigint
) language plpgsql stable as $$
declare
  found bigint;
  first bigint := 0;
  last bigint := 9223372036854775807;
  before bigint := 0;
begin
  select
    coalesce(
      sum(
        case wanted
          when 'active' then active
          when 'sold' then sold
          when 'hidden' then hidden
          else active + sold + hidden
        end
      ),
      0
    )
  into total
  from (
    select active, sold, hidden from listing_counts where account_id = seller and level = 2
    union all
    select active, sold, hidden from listing_count_deltas where account_id = seller
  ) counts;

  until := 9223372036854775807;
  skipped_there := skipped;
  if skipped >= total then
    until := 0;
    return;
  end if;
  if
    skipped < 500
    or not exists (select from listing_counts where account_id = seller and level = 0)
  then
    return;
  end if;

  for depth in reverse 2..0 loop
    -- `reached` is the number of listings in a block and in the newer ones.
    select max(block) filter (where reached > skipped), coalesce(max(reached) filter (where reached <= skipped), before)
    into found, before
    from (
      select
        block,
        before + sum(
          case wanted
            when 'active' then active
            when 'sold' then sold
            when 'hidden' then hidden
            else active + sold + hidden
          end
        ) over (order by block desc) as reached
      from (
        select block, active, sold, hidden
        from listing_counts
        where account_id = seller and level = depth and block between first and last
        union all
        select block >> (6 * depth), active, sold, hidden
        from listing_count_deltas
        where account_id = seller and block >> (6 * depth) between first and last
      ) counts
    ) blocks;
    first := found << 6;
    last := first + 63;
  end loop;
  until := (found + 1) << 8;
  skipped_there := skipped - before;
end
$$;

-- Counting millions of listings takes longer than the time limit of the program's statements.
set local statement_timeout = 0;

select recount_listings(array(select id from accounts));
