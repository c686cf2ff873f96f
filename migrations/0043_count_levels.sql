-- Counts have four levels with ranges of 2^8, 2^12, 2^16 and 2^20 keys instead of three: a search for a page reads at
-- most 16 rows of each instead of 64 (docs/counts.md). Stop processes of earlier versions first: they would add to the
-- former levels.

update counts set level = 3 where level = 2;
delete from counts where level = 1;
insert into counts
select
  subject, account_id, above, block >> (4 * above), sum(n1), sum(n2), sum(n3), sum(n4), sum(n5)
from counts
cross join generate_series(1, 2) as above
where level = 0
group by subject, account_id, above, block >> (4 * above);

-- Neighbouring rows were spread over the table, and each cost a page.
cluster counts using counts_pkey;

-- As before, but with four levels.
create or replace function add_count_levels(of_subject text, accounts bigint[])
returns void language sql as $$
  with large as (
    select account_id
    from counts
    where subject = of_subject and account_id = any(accounts)
    group by account_id
    having min(level) = 3 and sum(n1 + n2 + n3 + n4 + n5) > 1000
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
    of_subject, account_id, level, block >> (4 * level), sum(n1), sum(n2), sum(n3), sum(n4), sum(n5)
  from counted
  cross join generate_series(0, 2) as level
  group by account_id, level, block >> (4 * level)
  order by 2, 3, 4;
$$;

create or replace function recount(of_subject text) returns void language sql as $$
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
    of_subject, account_id, level, block >> (4 * level), sum(n1), sum(n2), sum(n3), sum(n4), sum(n5)
  from (
    select account_id, 3 as level, block, n1, n2, n3, n4, n5 from blocks
    union all
    select 0, level, block, n1, n2, n3, n4, n5 from blocks cross join generate_series(0, 3) as level
  ) counted
  group by account_id, level, block >> (4 * level)
  order by 2, 3, 4;

  select add_count_levels(
    of_subject,
    array(select distinct account_id from counts where subject = of_subject and account_id <> 0)
  );
$$;

-- Parameters, result and order as before. Until deleted deltas are vacuumed, readers find them in the index. An index
-- scan marks them there, so that the next one need not visit the table. The planner would choose another scan, which
-- doesn't, or plan each call again. The settings leave it one plan.
create or replace function page_of_counts(
  of_subject text,
  seller bigint,
  wanted integer[],
  skipped bigint,
  out total bigint,
  out until bigint,
  out skipped_there bigint
) language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  -- The list of all sellers adds the deltas of each of them.
  last_seller bigint := case seller when 0 then 9223372036854775807 else seller end;
  w1 integer := wanted[1];
  w2 integer := wanted[2];
  w3 integer := wanted[3];
  w4 integer := wanted[4];
  w5 integer := coalesce(wanted[5], 0);
  kept bigint;
  -- Usually null: the job adds deltas to the counts every few seconds.
  delta_blocks bigint[];
  deltas bigint[];
  found bigint;
  number bigint;
  first bigint := 0;
  last bigint := 9223372036854775807;
  before bigint := 0;
begin
  select
    array_agg(block),
    array_agg(delta),
    coalesce(sum(delta), 0),
    (
      select coalesce(sum(n1 * w1 + n2 * w2 + n3 * w3 + n4 * w4 + n5 * w5), 0)
      from counts
      where subject = of_subject and account_id = seller and level = 3
    )
  into delta_blocks, deltas, total, kept
  from (
    select block, sum(n1 * w1 + n2 * w2 + n3 * w3 + n4 * w4 + n5 * w5)::bigint as delta
    from count_deltas
    where subject = of_subject and account_id between seller and last_seller
    group by block
  ) of_block;
  total := total + kept;

  skipped_there := skipped;
  if skipped >= total then
    -- No key is below it.
    until := 0;
    return;
  end if;
  -- A seller with more than 1,000 rows has all levels.
  if skipped < 500 or kept <= 1000 then
    return;
  end if;

  -- `before` is the number of rows in newer blocks than the one in which the page begins.
  for depth in reverse 3..0 loop
    if deltas is null then
      for found, number in
        select block, n1 * w1 + n2 * w2 + n3 * w3 + n4 * w4 + n5 * w5
        from counts
        where
          subject = of_subject
          and account_id = seller
          and level = depth
          and block between first and last
        order by block desc
      loop
        exit when before + number > skipped;
        before := before + number;
      end loop;
    else
      for found, number in
        select block, sum(counted)
        from (
          select block, n1 * w1 + n2 * w2 + n3 * w3 + n4 * w4 + n5 * w5 as counted
          from counts
          where
            subject = of_subject
            and account_id = seller
            and level = depth
            and block between first and last
          union all
          select key_block >> (4 * depth), delta
          from unnest(delta_blocks, deltas) as of_block (key_block, delta)
          where key_block >> (4 * depth) between first and last
        ) both_kinds
        group by block
        order by block desc
      loop
        exit when before + number > skipped;
        before := before + number;
      end loop;
    end if;
    first := found << 4;
    last := first + 15;
  end loop;
  until := (found + 1) << 8;
  skipped_there := skipped - before;
end
$$;

create or replace function count_before(
  of_subject text, seller bigint, wanted integer[], key_block bigint
) returns bigint language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  last_seller bigint := case seller when 0 then 9223372036854775807 else seller end;
begin
  if not exists (
    select from counts where subject = of_subject and account_id = seller and level = 0
  ) then
    return null;
  end if;
  return (
    select
      coalesce(
        sum(
          n1 * wanted[1] + n2 * wanted[2] + n3 * wanted[3] + n4 * wanted[4]
          + n5 * coalesce(wanted[5], 0)
        ),
        0
      )
    from (
      -- The blocks of each level that the level above doesn't cover.
      select n1, n2, n3, n4, n5
      from generate_series(0, 3) as depth
      cross join lateral (
        select n1, n2, n3, n4, n5
        from counts
        where
          subject = of_subject
          and account_id = seller
          and level = depth
          and block >= case depth when 3 then 0 else key_block >> (4 * depth + 4) << 4 end
          and block < key_block >> (4 * depth)
      ) of_level
      union all
      select n1, n2, n3, n4, n5
      from count_deltas
      where
        subject = of_subject
        and account_id between seller and last_seller
        and block < key_block
    ) counted
  );
end
$$;
