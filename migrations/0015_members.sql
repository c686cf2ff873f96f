-- Members: the people who sign in for an account, their sessions, and the links that they get by e-mail.

create table members (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts on delete cascade,
  email text not null,
  -- Null until the invitation is accepted, and while the operator has removed the password.
  password_hash text,
  created_at timestamptz not null
);

-- One member per e-mail address, whatever its casing.
create unique index members_email_taken on members (lower(email));
create index members_account on members (account_id, id);

-- Signed-in browsers. An ended session is deleted.
create table member_sessions (
  id bigint generated always as identity primary key,
  member_id bigint not null references members on delete cascade,
  -- SHA-256 of the cookie's value.
  token_hash bytea not null check (octet_length(token_hash) = 32),
  user_agent text,
  address text,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  -- Real time, unlike the times that members see.
  expires_at timestamptz not null
);

create unique index member_sessions_token on member_sessions (token_hash);
create index member_sessions_member on member_sessions (member_id, id);
create index member_sessions_expired on member_sessions (expires_at);

-- Links that work once: using one deletes it, and a new one replaces the member's former one of its purpose.
create table member_tokens (
  member_id bigint not null references members on delete cascade,
  purpose text not null check (purpose in ('invitation', 'reset', 'email')),
  -- SHA-256 of the link's token.
  token_hash bytea not null check (octet_length(token_hash) = 32),
  -- The new address that an 'email' token confirms.
  email text,
  -- Real time.
  expires_at timestamptz not null,
  primary key (member_id, purpose),
  constraint member_tokens_confirm_an_address check ((purpose = 'email') = (email is not null))
);

create unique index member_tokens_token on member_tokens (token_hash);
create index member_tokens_expired on member_tokens (expires_at);

-- A password set by the operator becomes that of the account's first member. A later release drops the empty column.
insert into members (account_id, email, password_hash, created_at)
select id, email, password_hash, created_at from accounts where password_hash is not null order by id;
update accounts set password_hash = null where password_hash is not null;

-- The IANA time zone of a shop's days and months.
alter table accounts add column time_zone text not null default 'UTC';
