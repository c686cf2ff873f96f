-- Webhooks: endpoints and deliveries.

create table webhook_endpoints (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts,
  -- Which of the account's sixteen endpoints this is; null for a deleted one.
  place smallint check (place between 1 and 16),
  url text not null,
  -- In the seller's order, without repeats.
  events text[] not null check (
    cardinality(events) > 0
    and events <@ array['order.created', 'order.cancelled', 'order.label_ready', 'listing.sold']
  ),
  -- The signing secret, encrypted; null once the endpoint is deleted.
  secret bytea,
  -- Consecutive failed deliveries.
  consecutive_failures integer not null default 0 check (consecutive_failures >= 0),
  disabled_at timestamptz,
  -- The row remains because its deliveries do.
  deleted_at timestamptz,
  created_at timestamptz not null,
  constraint webhook_endpoints_at_most_16 unique (account_id, place),
  constraint webhook_endpoints_deleted_whole check (
    (deleted_at is null) = (place is not null) and (deleted_at is null) = (secret is not null)
  )
);

-- The transaction that wrote the event: a reader that follows this order up to the oldest transaction still
-- in progress misses nothing (see server/events/stream.ts).
alter table events add column written_in xid8 not null default pg_current_xact_id();

create index events_written on events (account_id, written_in, id);
drop index events_account;

-- One event for one endpoint: both queue and log. The body is the event's `data` in an envelope.
create table deliveries (
  id bigint generated always as identity primary key,
  event_id bigint not null references events,
  endpoint_id bigint not null references webhook_endpoints,
  status text collate "C" not null
    check (status in ('pending', 'delivered', 'failed', 'skipped')),
  -- Finished attempts, oldest first: at, status_code, error, duration_ms, response. They are read only with
  -- their delivery, and a separate table would double the writes of each attempt.
  attempts jsonb not null default '[]' check (jsonb_typeof(attempts) = 'array'),
  -- The number of scheduled attempts, without resends.
  tries smallint not null default 0 check (tries between 0 and 5),
  first_attempt_at timestamptz,
  -- The time of the next scheduled attempt, and the time of a requested resend.
  next_attempt_at timestamptz,
  resend_at timestamptz,
  -- The earlier of the two; null if there is nothing to do.
  due_at timestamptz generated always as (least(next_attempt_at, resend_at)) stored,
  -- The endpoint while there is something to do. Only the queue's index has this column, so a search by it can't use
  -- the log's index, whatever the planner estimates.
  waiting_for bigint generated always as (
    case when coalesce(next_attempt_at, resend_at) is not null then endpoint_id end
  ) stored,
  -- The fencing token: a process presumed dead cannot overwrite a later claim.
  claims integer not null default 0 check (claims >= 0),
  -- End of the lease, real time: afterwards the process that claimed the row is presumed dead.
  leased_until timestamptz,
  -- The transaction that requested the last resend.
  resent_in xid8,
  created_at timestamptz not null,
  -- One delivery of an event per endpoint.
  constraint deliveries_once unique (event_id, endpoint_id),
  constraint deliveries_pending_are_planned check (
    (status = 'pending') = (next_attempt_at is not null)
  ),
  constraint deliveries_tried_since check ((tries = 0) = (first_attempt_at is null)),
  constraint deliveries_leased_are_due check (leased_until is null or due_at is not null)
)
with (
  -- Room on each page, so that a claim updates the row in place.
  fillfactor = 50,
  -- Finished rows leave the queue's index only by vacuum: run it after this many rows, whatever the size of the log.
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 20000
);

-- The queue, endpoint by endpoint: a backlog of one endpoint never delays another.
create index deliveries_due on deliveries (waiting_for, due_at, id) where waiting_for is not null;
-- The log, newest first; and the deliveries that can be resent.
create index deliveries_log on deliveries (endpoint_id, id);
create index deliveries_undelivered on deliveries (endpoint_id, id)
  where status in ('failed', 'skipped');
-- Resends in the same order as events; one transaction can request a hundred thousand.
create index deliveries_resent on deliveries (endpoint_id, resent_in, event_id)
  where resent_in is not null;
