-- As before, but one row shows that a seller has all levels. The job calls this every few seconds with each seller that
-- had a change, and it added up all counts of these sellers: 300,000 rows of a large shop after two years.
create or replace function add_count_levels(of_subject text, accounts bigint[])
returns void language sql as $$
  with large as (
    select account_id
    from unnest(accounts) as changed (account_id)
    where
      not exists (
        select
        from counts c
        where c.subject = of_subject and c.account_id = changed.account_id and c.level = 0
        -- Without OFFSET, the planner may read the counts of all sellers for a join.
        offset 0
      )
      and (
        select sum(n1 + n2 + n3 + n4 + n5)
        from counts c
        where c.subject = of_subject and c.account_id = changed.account_id and c.level = 3
      ) > 1000
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
