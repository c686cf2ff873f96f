-- A refund that exceeds the net of a row leaves the seller a debt. If it was deducted from another payout and the row is
-- cancelled then, the commission that comes back is the seller's. The payout of the slice was sent, so another follows it.
alter table payouts drop constraint payouts_one_per_slice;
create index payouts_slice on payouts (slice_id, id);
create unique index payouts_one_due_per_slice on payouts (slice_id) where state = 'due';

-- Pays the credits that earlier versions left in the books.
insert into payouts (account_id, slice_id, amount_cents, created_at)
select p.account_id, p.slice_id, sum(p.seller_cents), max(p.created_at)
from postings p
where
  p.slice_id in (select slice_id from postings where kind = 'recovery')
  and not exists (
    select from orders o
    where o.slice_id = p.slice_id and o.status in ('pending', 'shipped', 'disputed')
  )
  and not exists (
    select from payouts
    where slice_id = p.slice_id and state in ('due', 'failed')
  )
group by p.account_id, p.slice_id
having sum(p.seller_cents) > 0
order by max(p.created_at), p.slice_id;
