-- The scopes of an access token that a program asked fewer for in a refresh; null for all scopes of the grant.
alter table oauth_tokens add column scopes text[];
