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
      -- The blocks of each level that the level above doesn't cover. OFFSET makes PostgreSQL look for each level's blocks
      -- alone: in a market of many sellers it expects few counts of each, and would read all of the seller's for a join.
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
        offset 0
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
