-- An e-mail that still waits when a buyer is erased is sent, and then loses its recipient and text as well.
alter table mails add column erased boolean not null default false;

create function blank_erased_mail() returns trigger language plpgsql as $$
begin
  new.recipient := '';
  new.text := '';
  return new;
end
$$;

create trigger mails_blank_erased
before update on mails
for each row when (new.erased and new.status <> 'waiting') execute function blank_erased_mail();
