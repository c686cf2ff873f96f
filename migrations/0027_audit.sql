-- The audit log: every write through the operator API and the dashboard, and every sign-in event.
create table audit_entries (
  id bigint generated always as identity primary key,
  -- 'operator' for the operator token, else 'staff:3' or 'member:7'; 'anonymous' for a failed sign-in.
  actor text collate "C" not null,
  actor_name text,
  role text collate "C" not null,
  action text collate "C" not null,
  -- 'order:501'; null if the action is about no single record.
  record text collate "C",
  before jsonb,
  after jsonb,
  request_id text,
  created_at timestamptz not null
);

create index audit_entries_actor on audit_entries (actor, id);
create index audit_entries_role on audit_entries (role, id);
create index audit_entries_action on audit_entries (action, id);
create index audit_entries_record on audit_entries (record, id);
create index audit_entries_created on audit_entries (created_at, id);

-- Only the job that deletes old entries may delete any: it sets this parameter for its transaction.
create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and current_setting('cardstall.prunes_audit_entries', true) = 'on' then
    return null;
  end if;
  raise exception 'Rows of % never change.', tg_table_name;
end
$$;

create trigger audit_entries_append_only
before update or delete or truncate on audit_entries
for each statement execute function refuse_audit_change();
