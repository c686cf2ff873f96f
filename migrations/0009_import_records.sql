-- The records of the running import until they are saved. An import reads its whole source before it changes the
-- catalog: a set may follow its cards, and the last line of a key wins. Only the holder of the import lock uses this table.
-- Unlogged: if the server crashes, the import has failed and nobody needs its records.
create unlogged table import_records (
  type text collate "C" not null,
  -- Id, slug, or name of a series.
  key text collate "C" not null,
  batch integer not null,
  -- Order of the records in their source.
  position bigint not null,
  -- The record's line as the report names it: a number, or the place in a folder.
  line json not null,
  record json not null,
  primary key (type, key)
);

create index import_records_batch on import_records (batch, position);
