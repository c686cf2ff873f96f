-- The list of a seller's slices, newest first, and the search for a buyer's name.

create index slices_newest on slices (account_id, created_at, id);

-- The slices of the rows in one status come from this index alone.
drop index orders_status;
create index orders_status on orders (account_id, status, created_at, id) include (slice_id);

-- The words of a name, without case and accents. Built from an array, because PostgreSQL's parser takes some names for
-- hosts or e-mail addresses.
create function name_words(name text) returns tsvector
language sql immutable parallel safe
return array_to_tsvector(
  array_remove(
    regexp_split_to_array(
      regexp_replace(normalize(lower(name), NFKD), '[\u0300-\u036f]', '', 'g'),
      '[[:space:][:punct:]]+'
    ),
    ''
  )
);

-- A search for names that have a word beginning with each word of the text; null for a text without words.
create function name_search(text text) returns tsquery
language sql immutable parallel safe
return (
  select string_agg(quote_literal(word) || ':*', ' & ')::tsquery
  from unnest(tsvector_to_array(name_words(text))) word
);

create index checkouts_buyer_words on checkouts using gin (name_words(buyer_name));
