-- The debts that a run deducted from a payout: parts of the recoveries of other slices. Earlier deductions have none.
create table payout_deductions (
  payout_id bigint not null references payouts,
  posting_id bigint not null references postings,
  amount_cents bigint not null check (amount_cents > 0),
  -- The rows whose refunds caused the debt.
  order_ids bigint[] not null,
  primary key (payout_id, posting_id)
);

create index payout_deductions_posting on payout_deductions (posting_id);

create trigger payout_deductions_append_only
before update or delete or truncate on payout_deductions
for each statement execute function refuse_change();

-- One statement inserts all parts of a recovery, after the amounts of the payouts have changed.
create function check_deductions() returns trigger language plpgsql as $$
begin
  if exists (
    select
    from (select posting_id, sum(amount_cents) as cents from added group by posting_id) parts
    join postings p on p.id = parts.posting_id
    where p.kind <> 'recovery' or p.seller_cents <> parts.cents
  ) then
    raise exception 'The deductions of a recovery must add up to it.' using errcode = '23514';
  end if;
  if exists (
    select
    from (select distinct payout_id as id from added) changed
    join payouts p using (id)
    where p.deducted_cents < (select sum(amount_cents) from payout_deductions where payout_id = p.id)
  ) then
    raise exception 'The deductions of a payout must not exceed its deducted amount.'
      using errcode = '23514';
  end if;
  return null;
end
$$;

create trigger payout_deductions_add_up
after insert on payout_deductions
referencing new table as added
for each statement execute function check_deductions();
