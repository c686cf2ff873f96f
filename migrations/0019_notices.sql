-- Notices for the seller's overview. A row is deleted when it is dismissed or no longer true, so a subject has at most one.
create table notices (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts on delete cascade,
  kind text not null check (
    kind in ('endpoint_disabled', 'key_rotated', 'photo_failed', 'payout_setup_missing')
  ),
  -- The endpoint or key that it is about; 0 if it sums up several records.
  subject_id bigint not null,
  -- The facts that its text contains.
  data jsonb not null,
  -- How often it has happened since it was dismissed.
  count integer not null default 1 check (count > 0),
  created_at timestamptz not null,
  constraint notices_one_per_subject unique (account_id, kind, subject_id)
);

-- The reason of the endpoint's last failed delivery.
alter table webhook_endpoints add column failure_reason text;
