-- The payouts of a shop by the day on which they were sent, for its overview.
create index payouts_sent on payouts (account_id, sent_at) where sent_at is not null;
