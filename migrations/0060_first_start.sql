-- A service has started outside the sandbox, so the database belongs to a marketplace, and no sandbox starts on it.
alter table clock add column live boolean not null default false;

-- Derived from the SECRET_KEY of the first start outside the sandbox. Later starts compare it with their own.
alter table clock add column key_check bytea;
