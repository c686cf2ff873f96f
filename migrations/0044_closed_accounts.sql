-- When the operator closed the account: nothing can be listed in it. Accounts that an earlier version closed are not known.
alter table accounts add column closed_at timestamptz;
