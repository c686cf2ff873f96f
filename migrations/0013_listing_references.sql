-- The seller's own name of a listing, such as a SKU: unique among the account's listings and never public.

alter table listings
  add column reference text
    constraint listings_reference check (char_length(reference) between 1 and 100);

create unique index listings_reference on listings (account_id, reference)
  where reference is not null and status <> 'removed';
