-- The months whose tiers are calculated, so that only one process does it.

create table tier_runs (
  -- The first day of the month of the calculation.
  month date primary key,
  ran_at timestamptz not null
);
