-- The first delivery that was created at or after this time, by a binary search. Ids are in the order of time, except
-- those of transactions that were open at the same time: the caller adds a margin.
create function first_delivery_since(moment timestamptz) returns bigint
language plpgsql stable
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  first bigint;
  last bigint;
  middle_id bigint;
  middle_at timestamptz;
begin
  select coalesce(min(id), 0), coalesce(max(id) + 1, 0) into first, last from deliveries;
  while first < last loop
    select id, created_at
    into middle_id, middle_at
    from deliveries
    where id >= (first + last) / 2
    order by id
    limit 1;
    if middle_at < moment then
      first := middle_id + 1;
    else
      last := (first + last) / 2;
    end if;
  end loop;
  return first;
end
$$;
