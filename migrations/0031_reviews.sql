-- Reviews: what a buyer says about a slice after receipt, and the seller's reply. See docs/after-sale.md.

create table reviews (
  id bigint generated always as identity primary key,
  slice_id bigint not null references slices,
  -- The row whose receipt allowed the review.
  order_id bigint not null references orders,
  account_id bigint not null references accounts,
  stars smallint not null check (stars between 1 and 5),
  text text,
  reply text,
  replied_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  removed_because text,
  removed_at timestamptz,
  constraint reviews_one_per_slice unique (slice_id),
  constraint reviews_replied_whole check (num_nonnulls(reply, replied_at) in (0, 2)),
  constraint reviews_removed_whole check (num_nonnulls(removed_because, removed_at) in (0, 2))
);

create index reviews_account on reviews (account_id, id);
create index reviews_shown on reviews (account_id, id) where removed_at is null;

-- `rating` and `reviews` are the published figures, of these and of the reviews above (server/accounts/rating.ts).
alter table accounts
  -- Entered by the operator: reviews from elsewhere.
  add column imported_rating numeric(3, 2) check (imported_rating between 0 and 5),
  add column imported_reviews integer not null default 0 check (imported_reviews >= 0),
  -- The reviews above that were not removed: the sum of their stars, and their number.
  add column review_stars bigint not null default 0 check (review_stars >= 0),
  add column review_count integer not null default 0 check (review_count >= 0);

update accounts
set imported_rating = rating, imported_reviews = reviews
where rating is not null or reviews > 0;
