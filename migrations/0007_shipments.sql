-- Platform labels: the shipments bought from carriers, and the sandbox's simulated carrier.

create table shipments (
  -- At most one shipment per slice.
  slice_id bigint primary key references slices,
  -- The row with which the label was requested; later events about the shipment name it as well.
  order_id bigint not null references orders,
  -- Our random reference, by which the carrier finds a purchase.
  reference text collate "C" not null,
  -- The carrier platform.
  provider text collate "C" not null,
  state text collate "C" not null check (state in ('buying', 'bought')),
  -- The outcome of a purchase is unknown: look the reference up at the carrier before buying anything.
  in_doubt boolean not null,
  -- Rows that the shipment covered when it was bought.
  lines integer not null check (lines > 0),
  -- Purchases begun: the fencing token, so that a process presumed dead cannot overwrite a later purchase.
  attempts integer not null default 0 check (attempts >= 0),
  -- End of the lease of a purchase or poll, real time: afterwards its process is presumed dead.
  leased_until timestamptz,
  -- The carrier's id of the shipment.
  carrier_id text collate "C",
  status text collate "C" check (status in ('ready', 'processing', 'action_required')),
  message text,
  -- The carrier's latest tracking code. A code that the operator reported is only in the slice.
  carrier_code text,
  -- The name of the label's file.
  label_name text collate "C" not null,
  -- The latest link to the label.
  link_nonce text collate "C",
  link_expires_at timestamptz,
  -- When the carrier is polled next, and the number of polls.
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

-- The simulated carrier's shipments. They are committed separately from our transactions, as a real carrier's are, so
-- that tests can crash the service between the carrier's answer and our record of it.
create table simulated_shipments (
  id bigint generated always as identity primary key,
  reference text collate "C" not null unique,
  status text collate "C" not null check (status in ('ready', 'processing', 'action_required')),
  -- Whether it reports the tracking code, which is on the label from the beginning.
  tells_code boolean not null,
  -- The data printed on the label.
  parcel jsonb not null,
  created_at timestamptz not null
);

-- How the simulated carrier responds: one row.
create table simulated_carrier (
  only_row boolean primary key default true check (only_row),
  label text collate "C" not null default 'ready'
    check (label in ('ready', 'processing', 'action_required', 'error')),
  tracking text collate "C" not null default 'immediate'
    check (tracking in ('immediate', 'late'))
);

insert into simulated_carrier default values;
