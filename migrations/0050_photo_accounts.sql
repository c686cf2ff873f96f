-- The seller of a photo that is waiting, so that a claim finds each seller's next photo without the queues of others.
alter table photos add column account_id bigint references accounts;

update photos
set account_id = listings.account_id
from listings
where photos.status = 'waiting' and listings.id = photos.listing_id;

alter table photos
add constraint photos_waiting_have_an_account check (status <> 'waiting' or account_id is not null);

create index photos_due_of_account on photos (account_id, next_attempt_at, id) where status = 'waiting';

-- Earlier entries can have arrays, and entries never change.
alter table audit_entries
add constraint audit_entries_objects check (
  jsonb_typeof(before) = 'object' and jsonb_typeof(after) = 'object'
) not valid;

-- Names that an earlier version accepted, although no day can be computed in them.
update accounts
set time_zone = 'UTC'
where
  time_zone ilike 'SystemV/%'
  or upper(time_zone) in (
    'US/PACIFIC-NEW', 'CANADA/EAST-SASKATCHEWAN', 'ACT', 'AET', 'AGT', 'ART', 'AST', 'BET', 'BST',
    'CAT', 'CNT', 'CST', 'CTT', 'EAT', 'ECT', 'IET', 'IST', 'JST', 'MIT', 'NET', 'NST', 'PLT', 'PNT',
    'PRT', 'PST', 'SST', 'VST'
  );
