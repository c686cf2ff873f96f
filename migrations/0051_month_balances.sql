-- The change of the marketplace's debt to a seller in a month whose fee invoices are issued. Its postings no longer change,
-- so the opening balance of a statement is the sum of these rows and of the postings since then.

create table month_balances (
  account_id bigint not null references accounts,
  -- The first day of the month.
  month date not null,
  cents bigint not null,
  primary key (account_id, month)
);

insert into month_balances (account_id, month, cents)
select account_id, date_trunc('month', created_at at time zone 'UTC'), sum(seller_cents)
from postings
where
  created_at < (select (max(month) + interval '1 month') at time zone 'UTC' from invoice_months)
group by 1, 2
having sum(seller_cents) <> 0;
