-- Photos of a removed listing are deleted at this time (docs/photos.md). Null: the listing is not removed.
alter table photos add column delete_at timestamptz;
create index photos_to_delete on photos (delete_at) where delete_at is not null;

update photos
set delete_at = listings.updated_at + interval '30 days'
from listings
where listings.id = photos.listing_id and listings.status = 'removed';
