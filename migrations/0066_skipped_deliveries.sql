-- Whether a delivery was skipped, for the index of missed deliveries: counts of the skipped or failed ones read each of
-- its rows for the status. The index can't have the status itself, because a success changes it, and PostgreSQL then
-- couldn't update the row in place. The column isn't generated, because that would rewrite the table.
alter table deliveries add column is_skipped boolean not null default false;
update deliveries set is_skipped = true where is_missed and status = 'skipped';
alter table deliveries
  add constraint deliveries_is_skipped_check check (is_skipped = (status = 'skipped'));

create index deliveries_missed_status on deliveries (endpoint_id, id) include (is_skipped)
  where is_missed;
drop index deliveries_missed;
alter index deliveries_missed_status rename to deliveries_missed;
