-- Records that the operator hides. A hidden set hides its cards and products as well.
alter table sets add column visible boolean not null default true;
alter table cards add column visible boolean not null default true;
alter table products add column visible boolean not null default true;
