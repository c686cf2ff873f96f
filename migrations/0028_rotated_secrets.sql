-- A rotated secret signs next to its successor for a day, so that receivers can be changed without a gap.
alter table webhook_endpoints
  add column previous_secret bytea,
  add column previous_secret_until timestamptz,
  -- Grows with each rotation, so that processes notice that a secret in memory is outdated.
  add column secret_number integer not null default 1,
  add constraint webhook_endpoints_previous_whole check (
    (previous_secret is null) = (previous_secret_until is null)
    and (previous_secret is null or deleted_at is null)
  );
