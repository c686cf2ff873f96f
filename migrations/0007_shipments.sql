-- Platform labels: what was bought from the carrier for a slice, and the sandbox's own carrier.

create table shipments (
  -- Never two for a slice.
  slice_id bigint primary key references slices,
  -- The row that the label was asked for by; later events about the shipment name it, too.
  order_id bigint not null references orders,
  -- Ours, that nobody can guess: by it the carrier knows a purchase again.
  reference text collate "C" not null,
  -- The carrier platform.
  provider text collate "C" not null,
  state text collate "C" not null check (state in ('buying', 'bought')),
  -- The carrier may have it without our knowing: it has to be looked up before anything is bought.
  in_doubt boolean not null,
  -- Rows that were pending when it was bought.
  lines integer not null check (lines > 0),
  -- Purchases begun; each has a number of its own, so that one taken for dead can't write over the next.
  attempts integer not null default 0 check (attempts >= 0),
  -- Real time: until then whoever buys it, or asks after it, is at work; afterwards it's taken for dead.
  leased_until timestamptz,
  -- What the carrier calls it.
  carrier_id text collate "C",
  status text collate "C" check (status in ('ready', 'processing', 'action_required')),
  message text,
  -- The code the carrier said last. One that the operator reported is in the slice alone.
  carrier_code text,
  -- What its label's file is called.
  label_name text collate "C" not null,
  -- The link to the label that was minted last.
  link_nonce text collate "C",
  link_expires_at timestamptz,
  -- When the carrier is asked again by itself, and how often it was.
  poll_at timestamptz,
  polls integer not null default 0 check (polls >= 0),
  created_at timestamptz not null,
  bought_at timestamptz,
  constraint shipments_reference unique (reference),
  constraint shipments_label_name unique (label_name),
  constraint shipments_once_at_the_carrier unique (provider, carrier_id),
  constraint shipments_bought_whole check (
    num_nonnulls(carrier_id, status, bought_at) = case state when 'bought' then 3 else 0 end
  ),
  constraint shipments_bought_are_certain check (state = 'buying' or not in_doubt),
  constraint shipments_link_whole check (num_nonnulls(link_nonce, link_expires_at) in (0, 2)),
  constraint shipments_link_to_a_label check (
    link_nonce is null or status is not distinct from 'ready'
  )
);

create index shipments_poll on shipments (poll_at) where poll_at is not null;

-- The simulated carrier's own books. They're written beside our transactions, as a carrier elsewhere would, so that
-- what happens between its answer and our note of it can be tried.
create table simulated_shipments (
  id bigint generated always as identity primary key,
  reference text collate "C" not null unique,
  status text collate "C" not null check (status in ('ready', 'processing', 'action_required')),
  -- Whether it tells the code, which it has had from the beginning: it's on the label.
  tells_code boolean not null,
  -- What it prints on the label.
  parcel jsonb not null,
  created_at timestamptz not null
);

-- How the simulated carrier answers, in the one row.
create table simulated_carrier (
  only_row boolean primary key default true check (only_row),
  label text collate "C" not null default 'ready'
    check (label in ('ready', 'processing', 'action_required', 'error')),
  tracking text collate "C" not null default 'immediate'
    check (tracking in ('immediate', 'late'))
);

insert into simulated_carrier default values;
