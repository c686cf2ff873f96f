-- The event of a delivery, by which lists are filtered: a total of 800,000 deliveries took seconds, because each looked up
-- its event. Deliveries of an earlier version keep null until they are dropped, because filling millions would take minutes.
alter table deliveries add column event text collate "C";
