-- Finds the due payouts of sellers whom a run can pay, without those that are held.
create index payouts_due on payouts (account_id, id) include (slice_id, created_at, reason)
where state = 'due';
