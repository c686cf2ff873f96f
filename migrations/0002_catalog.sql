-- The catalog: series, sets, cards and sealed products. Written by imports alone, read by each process into memory.
-- Ids are compared byte by byte (collate "C"): they are codes, not words.

create table series (
  name text collate "C" primary key,
  shortcut text collate "C" unique
);

create table sets (
  id text collate "C" primary key,
  -- Not unique: the languages of a set share it. A card's friendly id is split at the first underscore.
  shortcut text collate "C" check (shortcut = lower(shortcut) and position('_' in shortcut) = 0),
  name text not null,
  series text collate "C" not null references series,
  language text not null,
  region text not null,
  release_date date,
  total_cards integer check (total_cards >= 0),
  printed_total integer check (printed_total >= 0),
  logo_url text,
  symbol_url text,
  -- The catalog version in which this set, or one of its cards or products, last changed.
  version bigint not null
);

create index sets_version on sets (version);
create index sets_series on sets (series);

create table cards (
  id text collate "C" primary key,
  set_id text collate "C" not null references sets,
  name text not null,
  number text collate "C" not null,
  rarity text,
  supertype text,
  hp text,
  types text[] check (cardinality(types) > 0),
  image_small text,
  image_large text
);

create index cards_set on cards (set_id);

create table products (
  slug text collate "C" primary key,
  name text not null,
  category text not null,
  set_id text collate "C" references sets,
  image_url text,
  release_date date,
  version bigint not null
);

create index products_set on products (set_id);
create index products_version on products (version);

-- Rises with every change of the catalog; a process that holds a lower version in memory reads the newer records.
create table catalog_version (
  only_row boolean primary key default true check (only_row),
  version bigint not null default 0
);

insert into catalog_version default values;
