-- The tables of events and deliveries become the first partitions of new tables. No row is read or moved.

-- The statement that writes an event writes its deliveries, and an event is dropped after its deliveries.
alter table deliveries drop constraint deliveries_event_id_fkey;

alter table events rename to events_from_0;
alter table events_from_0 rename constraint events_pkey to events_from_0_pkey;
alter index events_written rename to events_from_0_written;
alter index events_slice rename to events_from_0_slice;

alter table deliveries rename to deliveries_from_0;
alter table deliveries_from_0 rename constraint deliveries_pkey to deliveries_from_0_pkey;
alter table deliveries_from_0 rename constraint deliveries_once to deliveries_from_0_once;
alter index deliveries_log rename to deliveries_from_0_log;
alter index deliveries_missed rename to deliveries_from_0_missed;
alter index deliveries_resent rename to deliveries_from_0_resent;

-- The sequences go with the columns' identity.
create temporary table last_ids on commit drop as
select name, pg_sequence_last_value(pg_get_serial_sequence(name || '_from_0', 'id')::regclass) as id
from unnest(array['events', 'deliveries']) as name;
alter table events_from_0 alter column id drop identity;
alter table deliveries_from_0 alter column id drop identity;

-- Events that sellers are notified of, written in the transaction of their cause. `data` is the payload's `data` object
-- as it is sent, byte for byte.
create table events (
  id bigint generated always as identity primary key,
  account_id bigint not null constraint events_account_id_fkey references accounts,
  event text collate "C" not null
    constraint events_event_check
    check (event in ('order.created', 'order.cancelled', 'order.label_ready', 'listing.sold')),
  data text not null,
  created_at timestamptz not null,
  -- The transaction that wrote the event (server/events/stream.ts).
  written_in xid8 not null default pg_current_xact_id(),
  slice_id bigint
) partition by range (id);

create index events_written on events (account_id, written_in, id);
create index events_slice on events (slice_id, id) where slice_id is not null;

-- One event for one endpoint. `delivery_queue` has those with something to do.
create table deliveries (
  id bigint generated always as identity primary key,
  event_id bigint not null,
  endpoint_id bigint not null
    constraint deliveries_endpoint_id_fkey references webhook_endpoints,
  status text collate "C" not null
    constraint deliveries_status_check
    check (status in ('pending', 'delivered', 'failed', 'skipped')),
  -- Finished attempts, oldest first: at, status_code, error, duration_ms, response.
  attempts jsonb not null default '[]'
    constraint deliveries_attempts_check check (jsonb_typeof(attempts) = 'array'),
  -- The transaction that requested the last resend.
  resent_in xid8,
  created_at timestamptz not null,
  is_missed boolean not null generated always as (status in ('failed', 'skipped')) stored
) partition by range (id);

create index deliveries_log on deliveries (endpoint_id, id);
create index deliveries_missed on deliveries (endpoint_id, id) where is_missed;
create index deliveries_resent on deliveries (endpoint_id, resent_in, event_id)
  where resent_in is not null;

-- Adds the partition that has the ids from `first_id` on, up to `end_id` (exclusive) or without an end.
create function add_partition(parent text, first_id bigint, end_id bigint)
returns void language plpgsql as $$
declare
  name text := format('%s_from_%s', parent, first_id);
begin
  execute format(
    'create table %I partition of %I for values from (%s) to (%s) %s',
    name,
    parent,
    first_id,
    coalesce(end_id::text, 'maxvalue'),
    -- Room on each page for all of its rows with an attempt, which makes a row more than twice as long.
    case parent when 'deliveries' then 'with (fillfactor = 28)' end
  );
  if parent = 'deliveries' then
    -- One delivery of an event per endpoint. A partition begins while nothing is written, so it has all deliveries of an
    -- event.
    execute format('create unique index %I on %I (event_id, endpoint_id)', name || '_once', name);
  end if;
end $$;

do $$
declare
  parent text;
  end_id bigint;
  last_id bigint;
begin
  foreach parent in array array['events', 'deliveries'] loop
    select substring(pg_get_constraintdef(oid) from '\d+')
    into end_id
    from pg_constraint
    where conname = 'bounded' and conrelid = format('%s_from_0', parent)::regclass;
    execute format(
      'alter table %I attach partition %I for values from (minvalue) to (%s)',
      parent, parent || '_from_0', end_id
    );
    execute format('alter table %I drop constraint bounded', parent || '_from_0');
    perform add_partition(parent, end_id, null);
    select id into last_id from last_ids where name = parent;
    if last_id is not null then
      perform setval(pg_get_serial_sequence(parent, 'id'), last_id);
    end if;
  end loop;
end $$;

-- The first row of each table that is younger than the retention. Older rows are hidden until their partition is
-- dropped.
create table retention (
  table_name text primary key check (table_name in ('events', 'deliveries')),
  kept_from bigint not null default 0
);
insert into retention (table_name) values ('events'), ('deliveries');
