-- Programs that members let act for their shop. All expiry times are real time, unlike the times that members see.

-- Clients that registered themselves. Others are identified by the address of a document, which is not stored.
create table oauth_clients (
  id text primary key,
  name text not null,
  redirect_uris text[] not null,
  -- A client without a grant is deleted then.
  keep_until timestamptz not null
);

create index oauth_clients_unused on oauth_clients (keep_until);

-- One consent of a member. Ending it deletes it with its tokens.
create table oauth_grants (
  id bigint generated always as identity primary key,
  member_id bigint not null references members on delete cascade,
  client_id text not null,
  client_name text not null,
  -- The host that the browser went back to; null for a device.
  host text,
  -- The address that its tokens are for.
  audience text not null,
  scopes text[] not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  -- No token is valid longer, however often it is refreshed.
  ends_at timestamptz not null,
  -- Expiry of the last token, code or device.
  expires_at timestamptz not null
);

create index oauth_grants_member on oauth_grants (member_id, id);
create index oauth_grants_client on oauth_grants (client_id);
create index oauth_grants_expired on oauth_grants (expires_at);

-- Authorization codes, access tokens and refresh tokens.
create table oauth_tokens (
  -- SHA-256 of the token.
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  kind text not null check (kind in ('code', 'access', 'refresh')),
  grant_id bigint not null references oauth_grants on delete cascade,
  -- The first use of a code or a refresh token. A later one is a replay.
  used_at timestamptz,
  redirect_uri text,
  code_challenge text,
  expires_at timestamptz not null,
  constraint oauth_tokens_codes_have_a_challenge
    check ((kind = 'code') = (redirect_uri is not null and code_challenge is not null))
);

create index oauth_tokens_grant on oauth_tokens (grant_id);
create index oauth_tokens_expired on oauth_tokens (expires_at);

-- Requests of programs that wait for a member's decision. The decision deletes the row.
create table oauth_steps (
  -- SHA-256 of the identifier in the page's address.
  uid_hash bytea primary key check (octet_length(uid_hash) = 32),
  member_id bigint not null references members on delete cascade,
  request jsonb not null,
  expires_at timestamptz not null
);

create index oauth_steps_member on oauth_steps (member_id, expires_at);
create index oauth_steps_expired on oauth_steps (expires_at);

-- Device logins. The exchange deletes the row.
create table oauth_devices (
  -- SHA-256 of the device code.
  device_hash bytea primary key check (octet_length(device_hash) = 32),
  -- HMAC of the code that the member types, which is too short for a plain hash.
  user_code_hash bytea not null check (octet_length(user_code_hash) = 32),
  client_id text not null,
  audience text not null,
  scopes text[] not null,
  -- Set when a member has allowed it.
  grant_id bigint references oauth_grants on delete cascade,
  refused boolean not null default false,
  -- Minimum time between two polls, which grows when the device polls faster.
  interval_seconds integer not null default 5,
  polled_at timestamptz,
  expires_at timestamptz not null
);

create unique index oauth_devices_user_code on oauth_devices (user_code_hash);
create index oauth_devices_grant on oauth_devices (grant_id);
create index oauth_devices_expired on oauth_devices (expires_at);
