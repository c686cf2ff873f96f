-- Webhooks: where sellers want to be told, and every telling.

create table webhook_endpoints (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts,
  -- Which of the account's sixteen it is; a deleted one has none.
  place smallint check (place between 1 and 16),
  url text not null,
  -- In the seller's order, each once.
  events text[] not null check (
    cardinality(events) > 0
    and events <@ array['order.created', 'order.cancelled', 'order.label_ready', 'listing.sold']
  ),
  -- The signing secret, encrypted; gone with the endpoint.
  secret bytea,
  -- Failed deliveries in a row.
  consecutive_failures integer not null default 0 check (consecutive_failures >= 0),
  disabled_at timestamptz,
  -- Its log outlives it.
  deleted_at timestamptz,
  created_at timestamptz not null,
  constraint webhook_endpoints_at_most_16 unique (account_id, place),
  constraint webhook_endpoints_deleted_whole check (
    (deleted_at is null) = (place is not null) and (deleted_at is null) = (secret is not null)
  )
);

-- In which transaction an event was written: what is read in this order, up to the oldest transaction that is still
-- under way, misses nothing (see server/webhooks/event-stream.ts).
alter table events add column written_in xid8 not null default pg_current_xact_id();

create index events_written on events (account_id, written_in, id);
drop index events_account;

-- An event's way to one endpoint: the queue and the log in one. What was sent is the event's `data` in an envelope.
create table deliveries (
  id bigint generated always as identity primary key,
  event_id bigint not null references events,
  endpoint_id bigint not null references webhook_endpoints,
  status text collate "C" not null
    check (status in ('pending', 'delivered', 'failed', 'skipped')),
  -- Attempts that came to an end, oldest first: at, status_code, error, duration_ms, response. They're read with
  -- their delivery alone, and a table of their own would double what each attempt writes.
  attempts jsonb not null default '[]' check (jsonb_typeof(attempts) = 'array'),
  -- How many of them followed the schedule; resends don't.
  tries smallint not null default 0 check (tries between 0 and 5),
  first_attempt_at timestamptz,
  -- When the schedule has the next attempt, and when somebody asked for one beside it.
  next_attempt_at timestamptz,
  resend_at timestamptz,
  -- Whichever comes first; null when there is nothing to do.
  due_at timestamptz generated always as (least(next_attempt_at, resend_at)) stored,
  -- The endpoint, while there is something to do. Only the queue's index knows this column: searching by it can't end
  -- up in the log, whatever the planner believes of how many are waiting.
  waiting_for bigint generated always as (
    case when coalesce(next_attempt_at, resend_at) is not null then endpoint_id end
  ) stored,
  -- Each claim has a number of its own: a process that was taken for dead can't write over the next.
  claims integer not null default 0 check (claims >= 0),
  -- Real time: until then the process that claimed it is at work, afterwards it's taken for dead.
  leased_until timestamptz,
  -- The transaction in which the last resend was asked for.
  resent_in xid8,
  created_at timestamptz not null,
  -- No event twice to one endpoint.
  constraint deliveries_once unique (event_id, endpoint_id),
  constraint deliveries_pending_are_planned check (
    (status = 'pending') = (next_attempt_at is not null)
  ),
  constraint deliveries_tried_since check ((tries = 0) = (first_attempt_at is null)),
  constraint deliveries_leased_are_due check (leased_until is null or due_at is not null)
)
with (
  -- Claiming changes a row in place, if there's room for it.
  fillfactor = 50,
  -- What is done leaves the queue's index only when it's vacuumed: after so many rows, however long the log has grown.
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 20000
);

-- The queue, endpoint by endpoint: what waits for one that doesn't answer is never in another's way.
create index deliveries_due on deliveries (waiting_for, due_at, id) where waiting_for is not null;
-- The log, newest first; and what can be sent again.
create index deliveries_log on deliveries (endpoint_id, id);
create index deliveries_undelivered on deliveries (endpoint_id, id)
  where status in ('failed', 'skipped');
-- Resends in the same order as events; one transaction can ask for a hundred thousand.
create index deliveries_resent on deliveries (endpoint_id, resent_in, event_id)
  where resent_in is not null;
