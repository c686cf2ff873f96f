-- Events and deliveries will be partitioned by id (docs/partitions.md). The rows of today become the first partition. It
-- ends 4 million ids after the last one: this file and the next prove that without holding up writers.
do $$
declare
  parent text;
  last_id bigint;
begin
  foreach parent in array array['events', 'deliveries'] loop
    execute format('select coalesce(max(id), 0) from %I', parent) into last_id;
    execute format(
      'alter table %I add constraint bounded check (id < %s) not valid', parent, last_id + 4000000
    );
  end loop;
end $$;
