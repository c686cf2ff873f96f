-- Reads both tables once. Meanwhile they can be read and written.
alter table events validate constraint bounded;
alter table deliveries validate constraint bounded;
