-- The valid access tokens: all hashes are read after many wrong tokens, and those of a grant are counted at each refresh.
-- Before, the former read every refresh token of the last 30 days.
create index oauth_tokens_access on oauth_tokens (grant_id, expires_at) where kind = 'access';

-- The keys of an account that work: they are counted when one is created, and listed with a few of the revoked ones.
create index api_keys_active on api_keys (account_id) where revoked_at is null;
