-- An earlier version took a cancellation that was only requested for a confirmed one, and its rows don't say which it was.
-- The carrier does, so polls read the void labels of open orders again.
update shipments
set poll_at = bought_at, polls = 0
where
  is_void
  and exists (
    select from orders
    where orders.slice_id = shipments.slice_id and orders.status in ('pending', 'shipped')
  );
