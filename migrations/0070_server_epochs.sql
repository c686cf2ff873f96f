-- Makes the transaction ids of the event stream comparable after a dump is restored on another server, whose own ids can
-- be lower than those in the dump (server/database/server-epoch.ts).

create table server_epoch (
  only_row boolean primary key default true check (only_row),
  -- The server that has this database now.
  system_identifier bigint not null,
  -- The number of moves to another server.
  epoch bigint not null
);

-- 1 if the database has been moved before this migration, and the ids of the old server are still ahead.
insert into server_epoch (system_identifier, epoch)
select
  system_identifier,
  (
    exists (
      select
      from accounts
      where (
        select written_in from events
        where account_id = accounts.id
        order by written_in desc
        limit 1
      ) >= pg_snapshot_xmax(pg_current_snapshot())
    )
    or exists (
      select
      from webhook_endpoints
      where (
        select resent_in from deliveries
        where endpoint_id = webhook_endpoints.id and resent_in is not null
        order by resent_in desc
        limit 1
      ) >= pg_snapshot_xmax(pg_current_snapshot())
    )
  )::int
from pg_control_system();

-- An id of this server that is above all ids of earlier servers. An epoch has room for a thousand transactions a second
-- for 34 years.
create function xid_in_epoch(xid xid8) returns xid8
language sql stable
return ((select epoch from server_epoch) * 1099511627776 + xid::text::bigint)::text::xid8;

alter table events alter column written_in set default xid_in_epoch(pg_current_xact_id());
