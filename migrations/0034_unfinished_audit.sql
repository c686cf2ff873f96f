-- Writes of several transactions that have begun. Each row becomes an entry of the audit log when its write has ended, or an
-- hour later if a crash interrupted it.
create table unfinished_audit_entries (
  id bigint generated always as identity primary key,
  -- The entry without the state after the write.
  actor text collate "C" not null,
  actor_name text,
  role text collate "C" not null,
  action text collate "C" not null,
  record text collate "C",
  before jsonb,
  request_id text,
  created_at timestamptz not null,
  -- Real time.
  begun_at timestamptz not null default now()
);
