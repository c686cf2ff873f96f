-- E-mail: written in the transaction of its cause, sent afterwards by the mail worker.

create table mails (
  id bigint generated always as identity primary key,
  recipient text not null,
  subject text not null check (subject !~ '[\r\n]'),
  -- Plain text.
  text text not null,
  -- Without a mail server: captured in the sandbox, logged elsewhere.
  status text collate "C" not null default 'waiting'
    check (status in ('waiting', 'sent', 'captured', 'logged', 'failed')),
  -- Attempts so far, the running one included.
  attempts smallint not null default 0 check (attempts >= 0),
  next_attempt_at timestamptz,
  -- End of the lease, real time: afterwards the process that claimed the row is presumed dead.
  leased_until timestamptz,
  -- Why the last attempt failed.
  error text,
  created_at timestamptz not null,
  -- When the mail server accepted it.
  sent_at timestamptz,
  constraint mails_waiting_have_a_time check ((status = 'waiting') = (next_attempt_at is not null)),
  constraint mails_leased_are_waiting check (leased_until is null or status = 'waiting'),
  constraint mails_sent_have_a_time check ((status = 'sent') = (sent_at is not null)),
  constraint mails_failed_have_a_reason check (status <> 'failed' or error is not null)
);

create index mails_due on mails (next_attempt_at) where status = 'waiting';
-- The rows to prune.
create index mails_done on mails (created_at) where status <> 'waiting';
