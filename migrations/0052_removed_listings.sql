-- Removed listings that completed orders may still refer to: a transaction removes the references of a bounded number of
-- orders, and a job removes the others. Until then, readers hide the reference.
create table removed_listings (
  listing_id bigint primary key references listings
);
