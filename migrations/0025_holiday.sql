-- A shop on holiday is hidden and sells nothing. Its listings keep their status.
alter table accounts add column on_holiday boolean not null default false;

-- Limits of a shipping option: null is none.
alter table shipping_options
  add column countries text[] check (cardinality(countries) > 0),
  add column max_value_cents integer check (max_value_cents >= 0);

drop trigger accounts_offer_change on accounts;

create trigger accounts_offer_change after update on accounts
  for each row
  when (
    old.shop_name <> new.shop_name
    or old.slug <> new.slug
    or old.seller_tier <> new.seller_tier
    or old.rating is distinct from new.rating
    or old.reviews <> new.reviews
    or old.api_access <> new.api_access
    or old.on_holiday <> new.on_holiday
  )
  execute function write_changed_shop();

alter table accounts enable always trigger accounts_offer_change;
