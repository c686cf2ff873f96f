-- The account that a run's file debits. The file of an earlier run names the present settings.
alter table payout_runs
add column debtor_name text,
add column debtor_iban text,
add constraint payout_runs_debtor_whole check (num_nonnulls(debtor_name, debtor_iban) <> 1);
