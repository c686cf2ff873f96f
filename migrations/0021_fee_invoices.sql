-- Fee invoices: a seller's commission of a month. The numbers of a month have no gaps, because all of them are given in
-- one transaction after its end.

create table invoice_months (
  -- The first day of the month.
  month date primary key,
  issued_at timestamptz not null
);

create table fee_invoices (
  month date not null references invoice_months,
  number integer not null check (number > 0),
  account_id bigint not null references accounts,
  -- Negative if more commission was returned than charged.
  commission_cents bigint not null check (commission_cents <> 0),
  primary key (month, number),
  constraint fee_invoices_one_per_seller unique (account_id, month)
);
