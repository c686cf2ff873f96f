-- People and programs of the marketplace that use the operator API with a token and a role of their own.
create table staff (
  id bigint generated always as identity primary key,
  name text not null,
  role text collate "C" not null check (role in ('admin', 'support', 'finance', 'catalog')),
  token_hash bytea not null constraint staff_token_hash unique check (length(token_hash) = 32),
  created_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz
);
