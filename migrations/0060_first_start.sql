-- A service has started outside the sandbox, so the database belongs to a marketplace, and no sandbox starts on it.
alter table clock add column live boolean not null default false;
