-- The error of an e-mail quotes the mail server, which repeats the recipient's address. An erased e-mail keeps only the
-- code of the reply, and gets no further attempt once one has failed. One that waits for its first attempt is sent.
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
  end if;
  return new;
end
$$;

drop trigger mails_blank_erased on mails;
create trigger mails_blank_erased
before update on mails
for each row when (new.erased) execute function blank_erased_mail();

update mails set erased = true where erased;
