-- Lists of a period are ordered by time, so that a page reads no entries of other times. The old index is dropped at the
-- end, because that locks out readers.
create index postings_created_in_order on postings (created_at, id);

-- The other kinds are most of the ledger: a page of them is full after a few of its newest entries.
create index postings_rare on postings (kind, created_at, id)
where kind not in ('sale', 'shipping', 'payout');

drop index postings_created;
alter index postings_created_in_order rename to postings_created;
