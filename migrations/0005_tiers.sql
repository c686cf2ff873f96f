-- Each month whose tiers have been reckoned, so that it happens once, whichever process comes first.

create table tier_runs (
  -- The first day of the month in which it happened.
  month date primary key,
  ran_at timestamptz not null
);
