-- The shop whose turn an e-mail takes. Null if a person waits for the e-mail, which is then sent before those of shops.
alter table mails add column account_id bigint;
-- Whether the mail server did not answer the last attempt.
alter table mails add column is_slow boolean not null default false;

update mails
set account_id = slices.account_id
from slices
where slices.id = mails.slice_id and mails.status = 'waiting';

-- One index for each part of a claim: the planner would read through mails_due for those that a person waits for.
create index mails_first on mails (next_attempt_at, id)
where status = 'waiting' and account_id is null and not is_slow;
create index mails_slow on mails (next_attempt_at, id) where status = 'waiting' and is_slow;
create index mails_due_of_account on mails (account_id, next_attempt_at, id)
where status = 'waiting' and account_id is not null and not is_slow;
