-- The queue of deliveries becomes a narrow table next to their log: a claim and a success no longer write to the
-- indexes of the log, which keeps millions of finished deliveries. Stop processes of earlier versions first.

-- The fencing token: each claim takes a number of its own, so a process presumed dead cannot overwrite a later claim.
create sequence delivery_claims;

-- A row per delivery that has something to do. Its transaction also writes the log, so a foreign key, which would check
-- each row, is left out: a row exists if its delivery is pending or has a requested resend.
create table delivery_queue (
  delivery_id bigint primary key,
  event_id bigint not null,
  endpoint_id bigint not null,
  -- The number of scheduled attempts so far, without resends.
  tries smallint not null default 0 check (tries between 0 and 5),
  first_attempt_at timestamptz,
  -- The time of the next scheduled attempt, null unless the delivery is pending; and the time of a requested resend.
  next_attempt_at timestamptz,
  resend_at timestamptz,
  -- The earlier of the two.
  due_at timestamptz not null generated always as (least(next_attempt_at, resend_at)) stored,
  -- The last claim, and the end of its lease in real time: afterwards the process that claimed is presumed dead.
  claim_id bigint,
  leased_until timestamptz,
  constraint delivery_queue_tried_since check ((tries = 0) = (first_attempt_at is null)),
  constraint delivery_queue_leased_by check (leased_until is null or claim_id is not null)
)
with (
  -- Room on each page, so that a claim updates the row in place.
  fillfactor = 50,
  -- Finished rows leave the indexes only by vacuum.
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 20000
);

insert into delivery_queue (
  delivery_id, event_id, endpoint_id, tries, first_attempt_at, next_attempt_at, resend_at
)
select
  id,
  event_id,
  endpoint_id,
  tries,
  first_attempt_at,
  next_attempt_at,
  resend_at
from deliveries
where waiting_for is not null;

-- The queue, endpoint by endpoint: a backlog of one endpoint never delays another.
create index delivery_queue_due on delivery_queue (endpoint_id, due_at, delivery_id);

-- The log keeps the status and the attempts.
drop index deliveries_due;
drop index deliveries_undelivered;
alter table deliveries
  drop column waiting_for,
  drop column due_at,
  drop column tries,
  drop column first_attempt_at,
  drop column next_attempt_at,
  drop column resend_at,
  drop column claims,
  drop column leased_until,
  -- It changes only for a delivery that isn't delivered, so a success changes no indexed column, and PostgreSQL updates
  -- the row in place.
  add column is_missed boolean not null
    generated always as (status in ('failed', 'skipped')) stored;
-- The deliveries that can be resent in bulk.
create index deliveries_missed on deliveries (endpoint_id, id) where is_missed;

-- Room on each page for all of its rows with an attempt, which makes a row more than twice as long: one transaction can
-- update all of them, and the old versions leave the page only later.
alter table deliveries set (fillfactor = 28);
alter table deliveries reset (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold);
