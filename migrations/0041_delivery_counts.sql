-- The number of deliveries to each endpoint, for the totals of lists (docs/partitions.md): those with an id from
-- `retention.kept_from` up to `counted_to`.
create table delivery_counts (
  endpoint_id bigint primary key references webhook_endpoints on delete cascade,
  number bigint not null check (number >= 0)
);

create table delivery_count_state (
  is_only boolean primary key default true check (is_only),
  counted_to bigint not null default 0,
  -- The ids below it can be counted when all transactions below `seen_in` have ended.
  seen_to bigint not null default 0 check (seen_to >= counted_to),
  seen_in xid8 not null default '0'
);
insert into delivery_count_state default values;
