-- The rows to ship of cards with a special printing or a grading say so, as new rows do: the seller has to pick that card.
update orders o
set item_subtitle = concat_ws(
  ' · ',
  o.item_subtitle,
  case when l.printing <> 'standard' then replace(l.printing, '_', ' ') end,
  l.grading_company || ' ' || l.grading_grade
)
from listings l
where
  l.id = o.listing_id
  and o.status = 'pending'
  and (l.printing <> 'standard' or l.grading_company is not null);
