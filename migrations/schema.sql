-- What the migrations add up to, for reading. Made by "npm run generate"; never run.

create table accounts (
  id bigint generated always as identity not null,
  shop_name text not null,
  slug text collate "C" not null,
  email text not null,
  password_hash text,
  business boolean default false not null,
  seller_tier text default 'Bronze'::text not null,
  payout_verified boolean default false not null,
  api_access text default 'disabled'::text not null,
  rating numeric(3,2),
  reviews integer default 0 not null,
  created_at timestamp with time zone not null,
  constraint accounts_pkey PRIMARY KEY (id),
  constraint accounts_api_access_check CHECK (api_access = ANY (ARRAY['enabled'::text, 'disabled'::text, 'suspended'::text])),
  constraint accounts_rating_check CHECK (rating >= 0::numeric AND rating <= 5::numeric),
  constraint accounts_reviews_check CHECK (reviews >= 0),
  constraint accounts_seller_tier_check CHECK (seller_tier = ANY (ARRAY['Bronze'::text, 'Silver'::text, 'Gold'::text, 'Diamond'::text, 'Master'::text])),
  constraint accounts_shop_name_check CHECK (shop_name <> ''::text),
  constraint accounts_slug_taken UNIQUE (slug)
);
CREATE UNIQUE INDEX accounts_email_taken ON public.accounts USING btree (lower(email));

create table api_keys (
  id bigint generated always as identity not null,
  account_id bigint not null,
  name text,
  prefix text not null,
  hash bytea not null,
  previous_prefix text,
  previous_hash bytea,
  previous_expires_at timestamp with time zone,
  scopes text[] not null,
  created_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  constraint api_keys_pkey PRIMARY KEY (id),
  constraint api_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  constraint api_keys_hash_check CHECK (octet_length(hash) = 32),
  constraint api_keys_previous_hash_check CHECK (octet_length(previous_hash) = 32),
  constraint api_keys_scopes_check CHECK (cardinality(scopes) > 0),
  constraint previous_secret_whole CHECK (num_nonnulls(previous_prefix, previous_hash, previous_expires_at) = ANY (ARRAY[0, 3]))
);
CREATE INDEX api_keys_account ON public.api_keys USING btree (account_id, id);
CREATE UNIQUE INDEX api_keys_hash ON public.api_keys USING btree (hash);
CREATE UNIQUE INDEX api_keys_previous_hash ON public.api_keys USING btree (previous_hash);

create table cards (
  id text collate "C" not null,
  set_id text collate "C" not null,
  name text not null,
  number text collate "C" not null,
  rarity text,
  supertype text,
  hp text,
  types text[],
  image_small text,
  image_large text,
  constraint cards_pkey PRIMARY KEY (id),
  constraint cards_set_id_fkey FOREIGN KEY (set_id) REFERENCES sets(id),
  constraint cards_types_check CHECK (cardinality(types) > 0)
);
CREATE INDEX cards_set ON public.cards USING btree (set_id);

create table catalog_version (
  only_row boolean default true not null,
  version bigint default 0 not null,
  constraint catalog_version_pkey PRIMARY KEY (only_row),
  constraint catalog_version_only_row_check CHECK (only_row)
);

create table clock (
  only_row boolean default true not null,
  advanced_seconds bigint default 0 not null,
  constraint clock_pkey PRIMARY KEY (only_row),
  constraint clock_advanced_seconds_check CHECK (advanced_seconds >= 0),
  constraint clock_only_row_check CHECK (only_row)
);

create table idempotency_keys (
  caller text not null,
  operation text not null,
  key text not null,
  request_hash bytea not null,
  status smallint,
  answer text,
  created_at timestamp with time zone not null,
  constraint idempotency_keys_pkey PRIMARY KEY (caller, operation, key)
);
CREATE INDEX idempotency_keys_created ON public.idempotency_keys USING btree (created_at);

create table migrations (
  version integer not null,
  name text not null,
  applied_at timestamp with time zone default clock_timestamp() not null,
  constraint migrations_pkey PRIMARY KEY (version)
);

create table products (
  slug text collate "C" not null,
  name text not null,
  category text not null,
  set_id text collate "C",
  image_url text,
  release_date date,
  version bigint not null,
  constraint products_pkey PRIMARY KEY (slug),
  constraint products_set_id_fkey FOREIGN KEY (set_id) REFERENCES sets(id)
);
CREATE INDEX products_set ON public.products USING btree (set_id);
CREATE INDEX products_version ON public.products USING btree (version);

create table series (
  name text collate "C" not null,
  shortcut text collate "C",
  constraint series_pkey PRIMARY KEY (name),
  constraint series_shortcut_key UNIQUE (shortcut)
);

create table sets (
  id text collate "C" not null,
  shortcut text collate "C",
  name text not null,
  series text collate "C" not null,
  language text not null,
  region text not null,
  release_date date,
  total_cards integer,
  printed_total integer,
  logo_url text,
  symbol_url text,
  version bigint not null,
  constraint sets_pkey PRIMARY KEY (id),
  constraint sets_printed_total_check CHECK (printed_total >= 0),
  constraint sets_series_fkey FOREIGN KEY (series) REFERENCES series(name),
  constraint sets_shortcut_check CHECK (shortcut = lower(shortcut) AND POSITION(('_'::text) IN (shortcut)) = 0),
  constraint sets_total_cards_check CHECK (total_cards >= 0)
);
CREATE INDEX sets_series ON public.sets USING btree (series);
CREATE INDEX sets_version ON public.sets USING btree (version);

create table shipping_options (
  account_id bigint not null,
  code text not null,
  position integer not null,
  name text not null,
  fulfilment text not null,
  tracked boolean not null,
  price_cents integer not null,
  enabled boolean not null,
  constraint shipping_options_pkey PRIMARY KEY (account_id, code),
  constraint shipping_options_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  constraint shipping_options_fulfilment_check CHECK (fulfilment = ANY (ARRAY['platform'::text, 'self_ship'::text])),
  constraint shipping_options_position_check CHECK ("position" >= 0),
  constraint shipping_options_price_cents_check CHECK (price_cents >= 0)
);
