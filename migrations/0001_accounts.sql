-- Sellers, their API keys, the responses to requests with an Idempotency-Key, and the sandbox's clock.

create table accounts (
  id bigint generated always as identity primary key,
  shop_name text not null check (shop_name <> ''),
  slug text not null collate "C",
  email text not null,
  password_hash text,
  business boolean not null default false,
  seller_tier text not null default 'Bronze'
    check (seller_tier in ('Bronze', 'Silver', 'Gold', 'Diamond', 'Master')),
  payout_verified boolean not null default false,
  api_access text not null default 'disabled'
    check (api_access in ('enabled', 'disabled', 'suspended')),
  rating numeric(3, 2) check (rating between 0 and 5),
  reviews integer not null default 0 check (reviews >= 0),
  created_at timestamptz not null,
  constraint accounts_slug_taken unique (slug)
);

-- One shop per e-mail address, whatever its casing.
create unique index accounts_email_taken on accounts (lower(email));

create table shipping_options (
  account_id bigint not null references accounts on delete cascade,
  code text not null,
  position integer not null check (position >= 0),
  name text not null,
  fulfilment text not null check (fulfilment in ('platform', 'self_ship')),
  tracked boolean not null,
  price_cents integer not null check (price_cents >= 0),
  enabled boolean not null,
  primary key (account_id, code)
);

create table api_keys (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts on delete cascade,
  name text,
  prefix text not null,
  hash bytea not null check (octet_length(hash) = 32),
  -- The secret before the last rotation, valid until its grace period ends.
  previous_prefix text,
  previous_hash bytea check (octet_length(previous_hash) = 32),
  previous_expires_at timestamptz,
  scopes text[] not null check (cardinality(scopes) > 0),
  created_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz,
  constraint previous_secret_whole check (
    num_nonnulls(previous_prefix, previous_hash, previous_expires_at) in (0, 3)
  )
);

create unique index api_keys_hash on api_keys (hash);
create unique index api_keys_previous_hash on api_keys (previous_hash);
create index api_keys_account on api_keys (account_id, id);

-- The first response to a request with an Idempotency-Key, written with its effect (see server/http/idempotency.ts).
create table idempotency_keys (
  caller text not null,
  operation text not null,
  key text not null,
  request_hash bytea not null,
  status smallint,
  answer text,
  created_at timestamptz not null,
  primary key (caller, operation, key)
);

create index idempotency_keys_created on idempotency_keys (created_at);

-- Offset of the sandbox's clock ahead of real time: one row, 0 outside the sandbox.
create table clock (
  only_row boolean primary key default true check (only_row),
  advanced_seconds bigint not null default 0 check (advanced_seconds >= 0)
);

insert into clock default values;
