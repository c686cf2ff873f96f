-- Sales: a checkout has a slice per seller, and a slice has an order row per listing.

create table checkouts (
  id bigint generated always as identity primary key,
  buyer_name text not null,
  buyer_email text not null,
  -- The delivery address as §2.8 shows it; null if the marketplace keeps none.
  address jsonb,
  created_at timestamptz not null
);

-- A seller's part of a checkout: its rows ship together.
create table slices (
  id bigint generated always as identity primary key,
  checkout_id bigint not null references checkouts,
  account_id bigint not null references accounts,
  slice_key text collate "C" not null,
  -- The seller's shipping option at the time of the sale.
  shipping_code text not null,
  shipping_method text not null,
  fulfilment text collate "C" not null check (fulfilment in ('platform', 'self_ship')),
  tracked boolean not null,
  shipping_cents integer not null check (shipping_cents >= 0),
  -- The carrier's latest report.
  tracking_code text,
  tracking_url text,
  tracking_status text,
  tracking_updated_at timestamptz,
  created_at timestamptz not null,
  constraint slices_key unique (slice_key),
  constraint slices_one_per_seller unique (checkout_id, account_id)
);

create table orders (
  id bigint generated always as identity primary key,
  slice_id bigint not null references slices,
  account_id bigint not null references accounts,
  -- null once the listing is deleted.
  listing_id bigint references listings,
  status text collate "C" not null default 'pending'
    check (status in ('pending', 'shipped', 'received', 'cancelled', 'disputed')),
  quantity integer not null check (quantity > 0),
  price_cents integer not null check (price_cents > 0),
  -- The item at the time of the sale.
  item_type text collate "C" check (item_type in ('card', 'product')),
  item_id text collate "C",
  item_friendly_id text,
  item_name text,
  item_subtitle text,
  item_image text,
  item_condition text collate "C",
  item_language text collate "C",
  -- The seller's commission rate at the sale, in hundredths of a percent, and the amount. Neither ever changes.
  commission_rate integer not null check (commission_rate between 0 and 10000),
  commission_cents bigint not null check (commission_cents >= 0),
  refunded_cents bigint not null default 0 check (refunded_cents >= 0),
  -- The tracking code that the seller sent when shipping.
  tracking_code text check (char_length(tracking_code) <= 100),
  cancelled_by text collate "C" check (cancelled_by in ('buyer', 'seller', 'admin', 'system')),
  created_at timestamptz not null,
  shipped_at timestamptz,
  received_at timestamptz,
  cancelled_at timestamptz,
  disputed_at timestamptz,
  constraint orders_one_per_listing unique (slice_id, listing_id),
  constraint orders_cancelled_whole check (
    (status = 'cancelled') = (cancelled_at is not null)
    and (cancelled_at is null) = (cancelled_by is null)
  ),
  constraint orders_shipped_when check (status <> 'shipped' or shipped_at is not null),
  constraint orders_received_when check (status <> 'received' or received_at is not null),
  constraint orders_disputed_when check (status <> 'disputed' or disputed_at is not null),
  constraint orders_refund_within_price check (
    refunded_cents <= price_cents::bigint * quantity
  )
);

-- A seller's orders: newest first, by status. The rows of a slice and of a listing. The rows to close automatically.
create index orders_newest on orders (account_id, created_at, id);
create index orders_status on orders (account_id, status, created_at, id);
create index orders_slice on orders (slice_id, id);
create index orders_listing on orders (listing_id) where listing_id is not null;
create index orders_shipped on orders (shipped_at) where status = 'shipped';

-- Events that sellers are notified of, written in the transaction of their cause. `data` is the payload's
-- `data` object as it is sent, byte for byte.
create table events (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts,
  event text collate "C" not null
    check (event in ('order.created', 'order.cancelled', 'order.label_ready', 'listing.sold')),
  data text not null,
  created_at timestamptz not null
);

create index events_account on events (account_id, id);
