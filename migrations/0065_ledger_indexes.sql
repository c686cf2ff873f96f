-- Lists of a period are ordered by time, so that a page reads no entries of other times.
drop index postings_created;
create index postings_created on postings (created_at, id);

-- The other kinds are most of the ledger: a page of them is full after a few of its newest entries.
create index postings_seldom on postings (kind, created_at, id)
where kind not in ('sale', 'shipping', 'payout');
