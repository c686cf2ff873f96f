-- The part of an e-mail's text that works as a credential, such as a link to a new password: readers of the outbox don't
-- see it. Afterwards the links of the e-mails that earlier versions wrote.
alter table mails add column secret text;

update mails
set secret = substring(text from '\S+\?(?:token|confirm)=\S+')
where text ~ '(/invitation|/password/reset|/email)\?token=|/payouts/setup\?confirm=';

-- An e-mail whose buyer's data is erased has no secret either, once it needs no further attempt.
create or replace function blank_erased_mail() returns trigger language plpgsql as $$
begin
  new.error := substring(new.error from '^[^:]*(?:: \d{3}(?:[ -]\d\.\d+\.\d+)?)?');
  if new.status = 'waiting' and new.attempts > 0 and new.leased_until is null then
    new.status := 'failed';
    new.next_attempt_at := null;
  end if;
  if new.status <> 'waiting' then
    new.recipient := '';
    new.text := '';
    new.secret := null;
  end if;
  return new;
end
$$;
