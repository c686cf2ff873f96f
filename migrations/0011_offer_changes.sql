-- The feed of the offers in memory (docs/offers.md): each transaction that changes an offer writes which one.

create table offer_changes (
  -- Readers compare it with their last snapshot: ids of transactions, unlike times and sequences, tell exactly which rows
  -- were not visible then.
  xid xid8 not null default pg_current_xact_id(),
  -- The changed listings; null if so many changed that readers should forget all offers.
  listing_ids bigint[] default '{}',
  -- The changed shops.
  account_ids bigint[] not null default '{}'
);

create index offer_changes_xid on offer_changes (xid);

-- Triggers write the feed, so that no statement can change an offer without it.
create function write_new_offers() returns trigger language plpgsql as $$
begin
  insert into offer_changes (listing_ids)
  select case when count(*) <= 1000 then array_agg(id) end from added where status = 'active'
  having count(*) > 0;
  return null;
end
$$;

create function write_changed_offer() returns trigger language plpgsql as $$
begin
  insert into offer_changes (listing_ids) values (array[new.id]);
  return null;
end
$$;

create function write_changed_reservation() returns trigger language plpgsql as $$
begin
  insert into offer_changes (listing_ids) values (array[coalesce(new.listing_id, old.listing_id)]);
  return null;
end
$$;

create function write_changed_shop() returns trigger language plpgsql as $$
begin
  insert into offer_changes (account_ids) values (array[new.id]);
  return null;
end
$$;

create function forget_offers() returns trigger language plpgsql as $$
begin
  insert into offer_changes (listing_ids) values (null);
  return null;
end
$$;

create trigger listings_offer_new after insert on listings
  referencing new table as added
  for each statement execute function write_new_offers();

create trigger listings_offer_change after update on listings
  for each row
  when (
    (old.status = 'active' or new.status = 'active')
    and (
      old.price_cents <> new.price_cents
      or old.quantity <> new.quantity
      or old.status <> new.status
      or old.description is distinct from new.description
      or old.photos <> new.photos
    )
  )
  execute function write_changed_offer();

create trigger listings_offer_delete after delete on listings
  for each statement execute function forget_offers();

create trigger listings_offer_truncate after truncate on listings
  for each statement execute function forget_offers();

create trigger reservations_offer_new after insert or update on reservations
  for each row execute function write_changed_reservation();

-- An expired reservation has no effect, so deleting it changes no offer. The sandbox's clock is never behind real time.
create trigger reservations_offer_delete after delete on reservations
  for each row when (old.expires_at > clock_timestamp()) execute function write_changed_reservation();

create trigger reservations_offer_truncate after truncate on reservations
  for each statement execute function forget_offers();

create trigger accounts_offer_change after update on accounts
  for each row
  when (
    old.shop_name <> new.shop_name
    or old.slug <> new.slug
    or old.seller_tier <> new.seller_tier
    or old.rating is distinct from new.rating
    or old.reviews <> new.reviews
    or old.api_access <> new.api_access
  )
  execute function write_changed_shop();

-- Bulk loads often set session_replication_role to replica, which skips other triggers.
alter table listings enable always trigger listings_offer_new;
alter table listings enable always trigger listings_offer_change;
alter table listings enable always trigger listings_offer_delete;
alter table listings enable always trigger listings_offer_truncate;
alter table reservations enable always trigger reservations_offer_new;
alter table reservations enable always trigger reservations_offer_delete;
alter table reservations enable always trigger reservations_offer_truncate;
alter table accounts enable always trigger accounts_offer_change;
