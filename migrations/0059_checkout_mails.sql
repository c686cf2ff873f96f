-- The checkout of an e-mail that is about all of its slices. `slice_id` is the first of them then.
alter table mails add column checkout_id bigint;
