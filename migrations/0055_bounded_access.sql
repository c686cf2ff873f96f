-- The valid access tokens: all hashes are read after many wrong tokens, and those of a grant are counted at each refresh.
-- Before, the former read every refresh token of the last 30 days.
create index oauth_tokens_access on oauth_tokens (grant_id, expires_at) where kind = 'access';
