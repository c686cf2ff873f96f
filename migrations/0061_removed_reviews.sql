-- Earlier versions kept the text of a removed review of a buyer whose data was erased, and no operation reaches it.
update reviews r
set text = null, reply = null, replied_at = null
from slices s
join checkouts c on c.id = s.checkout_id
where
  s.id = r.slice_id
  and r.removed_at is not null
  and c.erased_at is not null
  and (r.text is not null or r.reply is not null);
