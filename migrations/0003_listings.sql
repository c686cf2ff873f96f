-- Listings, the units that carts reserve, and the photos of listings.

create table listings (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts,
  -- The offered card or sealed product.
  card_id text collate "C" references cards,
  product_slug text collate "C" references products,
  price_cents integer not null,
  -- Whole stock, reserved units included.
  quantity integer not null,
  condition text collate "C" check (condition in ('M', 'NM', 'LP', 'MP', 'HP', 'DMG', 'G')),
  language text collate "C" not null
    check (language in ('EN', 'NL', 'DE', 'FR', 'JP', 'ES', 'IT', 'PT', 'CN', 'KR')),
  printing text collate "C" not null default 'standard'
    check (
      printing in (
        'standard', 'reverse_holo', 'holo', 'first_edition', 'shadowless', 'full_art',
        'alternate_art', 'promo'
      )
    ),
  grading_company text collate "C"
    check (
      grading_company in ('PSA', 'BGS', 'CGC', 'SGC', 'TAG', 'GRAAD', 'ACE', 'PCA', 'OVERIG')
    ),
  grading_grade text collate "C" check (grading_grade ~ '^(10\.0|[1-9]\.[05])$'),
  description text check (char_length(description) between 1 and 1000),
  -- Names of the attached photos in the storage.
  photos text[] collate "C" not null default '{}',
  status text collate "C" not null default 'active'
    check (status in ('active', 'sold', 'hidden', 'removed')),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint listings_one_thing check (num_nonnulls(card_id, product_slug) = 1),
  constraint listings_price check (price_cents between 1 and 9999999),
  constraint listings_quantity check (quantity >= 0),
  constraint listings_condition_of_cards check ((condition is null) = (card_id is null)),
  constraint listings_grading_whole check (
    num_nonnulls(grading_company, grading_grade)
      = case when condition = 'G' then 2 else 0 end
  ),
  constraint listings_status_fits_stock check (
    (status <> 'active' or quantity > 0) and (status <> 'sold' or quantity = 0)
  )
);

-- A seller's own listings: newest first, by status, by last change (incremental sync), by card or product.
create index listings_newest on listings (account_id, id) where status <> 'removed';
create index listings_status on listings (account_id, status, id);
create index listings_changes on listings (account_id, updated_at, id) where status <> 'removed';
create index listings_card on listings (account_id, card_id, id)
  where card_id is not null and status <> 'removed';
create index listings_product on listings (account_id, product_slug, id)
  where product_slug is not null and status <> 'removed';

-- All sellers' offers of one card or product, cheapest first.
create index listings_card_offers on listings (card_id, price_cents, id) where status = 'active';
create index listings_product_offers on listings (product_slug, price_cents, id)
  where product_slug is not null and status = 'active';

-- Units that a cart reserves until `expires_at`; afterwards the reservation has no effect.
create table reservations (
  id bigint generated always as identity primary key,
  listing_id bigint not null references listings,
  cart_id text not null check (cart_id <> ''),
  quantity integer not null check (quantity > 0),
  created_at timestamptz not null,
  expires_at timestamptz not null check (expires_at > created_at)
);

create index reservations_listing on reservations (listing_id, expires_at) include (quantity);
create index reservations_cart on reservations (cart_id);
create index reservations_expired on reservations (expires_at);

-- Each URL of `photo_urls`: a job of the photo worker and its outcome.
create table photos (
  id bigint generated always as identity primary key,
  listing_id bigint not null references listings,
  position smallint not null check (position >= 0),
  url text not null,
  status text collate "C" not null default 'waiting' check (status in ('waiting', 'stored', 'failed')),
  -- Attempts so far, the running one included.
  attempts smallint not null default 0 check (attempts >= 0),
  next_attempt_at timestamptz,
  -- End of the lease, real time: afterwards the process that claimed the row is presumed dead.
  leased_until timestamptz,
  -- Why the last attempt failed.
  error text,
  -- The name in the storage, without size and extension.
  name text collate "C" unique,
  created_at timestamptz not null,
  constraint photos_place unique (listing_id, position),
  constraint photos_waiting_have_a_time check ((status = 'waiting') = (next_attempt_at is not null)),
  constraint photos_stored_have_a_name check ((status = 'stored') = (name is not null)),
  constraint photos_failed_have_a_reason check (status <> 'failed' or error is not null)
);

create index photos_due on photos (next_attempt_at) where status = 'waiting';
