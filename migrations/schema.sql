-- The schema after all migrations, for reading. Written by "npm run generate"; never executed.

create table accounts (
  id bigint generated always as identity not null,
  shop_name text not null,
  slug text collate "C" not null,
  email text not null,
  password_hash text,
  business boolean default false not null,
  seller_tier text default 'Bronze'::text not null,
  payout_verified boolean default false not null,
  api_access text default 'disabled'::text not null,
  rating numeric(3,2),
  reviews integer default 0 not null,
  created_at timestamp with time zone not null,
  time_zone text default 'UTC'::text not null,
  on_holiday boolean default false not null,
  setup_reminded_at timestamp with time zone,
  imported_rating numeric(3,2),
  imported_reviews integer default 0 not null,
  review_stars bigint default 0 not null,
  review_count integer default 0 not null,
  closed_at timestamp with time zone,
  constraint accounts_pkey PRIMARY KEY (id),
  constraint accounts_api_access_check CHECK (api_access = ANY (ARRAY['enabled'::text, 'disabled'::text, 'suspended'::text])),
  constraint accounts_imported_rating_check CHECK (imported_rating >= 0::numeric AND imported_rating <= 5::numeric),
  constraint accounts_imported_reviews_check CHECK (imported_reviews >= 0),
  constraint accounts_rating_check CHECK (rating >= 0::numeric AND rating <= 5::numeric),
  constraint accounts_review_count_check CHECK (review_count >= 0),
  constraint accounts_review_stars_check CHECK (review_stars >= 0),
  constraint accounts_review_stars_of_count CHECK (review_stars >= review_count AND review_stars <= (5 * review_count::bigint)),
  constraint accounts_reviews_check CHECK (reviews >= 0),
  constraint accounts_seller_tier_check CHECK (seller_tier = ANY (ARRAY['Bronze'::text, 'Silver'::text, 'Gold'::text, 'Diamond'::text, 'Master'::text])),
  constraint accounts_shop_name_check CHECK (shop_name <> ''::text),
  constraint accounts_slug_taken UNIQUE (slug)
);
CREATE UNIQUE INDEX accounts_email_taken ON public.accounts USING btree (lower(email));
CREATE TRIGGER accounts_offer_change AFTER UPDATE ON accounts FOR EACH ROW WHEN (old.shop_name <> new.shop_name OR old.slug <> new.slug OR old.seller_tier <> new.seller_tier OR old.rating IS DISTINCT FROM new.rating OR old.reviews <> new.reviews OR old.api_access <> new.api_access OR old.on_holiday <> new.on_holiday) EXECUTE FUNCTION write_changed_shop();
ALTER TABLE accounts ENABLE ALWAYS TRIGGER accounts_offer_change;

create table api_keys (
  id bigint generated always as identity not null,
  account_id bigint not null,
  name text,
  prefix text not null,
  hash bytea not null,
  previous_prefix text,
  previous_hash bytea,
  previous_expires_at timestamp with time zone,
  scopes text[] not null,
  created_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  constraint api_keys_pkey PRIMARY KEY (id),
  constraint api_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  constraint api_keys_hash_check CHECK (octet_length(hash) = 32),
  constraint api_keys_known_scopes CHECK (scopes <@ ARRAY['catalog:read'::text, 'listings:read'::text, 'listings:write'::text, 'orders:read'::text, 'orders:write'::text, 'webhooks:manage'::text]),
  constraint api_keys_previous_hash_check CHECK (octet_length(previous_hash) = 32),
  constraint api_keys_scopes_check CHECK (cardinality(scopes) > 0),
  constraint previous_secret_whole CHECK (num_nonnulls(previous_prefix, previous_hash, previous_expires_at) = ANY (ARRAY[0, 3]))
);
CREATE INDEX api_keys_account ON public.api_keys USING btree (account_id, id);
CREATE INDEX api_keys_active ON public.api_keys USING btree (account_id) WHERE (revoked_at IS NULL);
CREATE UNIQUE INDEX api_keys_hash ON public.api_keys USING btree (hash);
CREATE UNIQUE INDEX api_keys_previous_hash ON public.api_keys USING btree (previous_hash);

create table audit_count_state (
  is_only boolean default true not null,
  counted_to bigint default 0 not null,
  seen_to bigint default 0 not null,
  seen_in xid8 default '0'::xid8 not null,
  constraint audit_count_state_pkey PRIMARY KEY (is_only),
  constraint audit_count_state_check CHECK (seen_to >= counted_to),
  constraint audit_count_state_is_only_check CHECK (is_only)
);

create table audit_counts (
  field text collate "C" not null,
  value text collate "C" not null,
  number bigint not null,
  constraint audit_counts_pkey PRIMARY KEY (field, value)
);

create table audit_entries (
  id bigint generated always as identity not null,
  actor text collate "C" not null,
  actor_name text,
  role text collate "C" not null,
  action text collate "C" not null,
  record text collate "C",
  before jsonb,
  after jsonb,
  request_id text,
  created_at timestamp with time zone not null,
  constraint audit_entries_pkey PRIMARY KEY (id),
  constraint audit_entries_objects CHECK (jsonb_typeof(before) = 'object'::text AND jsonb_typeof(after) = 'object'::text) NOT VALID
);
CREATE INDEX audit_entries_action ON public.audit_entries USING btree (action, id);
CREATE INDEX audit_entries_actor ON public.audit_entries USING btree (actor, id);
CREATE INDEX audit_entries_created ON public.audit_entries USING btree (created_at, id);
CREATE INDEX audit_entries_record ON public.audit_entries USING btree (record, id);
CREATE INDEX audit_entries_role ON public.audit_entries USING btree (role, id);
CREATE TRIGGER audit_entries_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON audit_entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();

create table cards (
  id text collate "C" not null,
  set_id text collate "C" not null,
  name text not null,
  number text collate "C" not null,
  rarity text,
  supertype text,
  hp text,
  types text[],
  image_small text,
  image_large text,
  visible boolean default true not null,
  constraint cards_pkey PRIMARY KEY (id),
  constraint cards_set_id_fkey FOREIGN KEY (set_id) REFERENCES sets(id),
  constraint cards_types_check CHECK (cardinality(types) > 0)
);
CREATE INDEX cards_set ON public.cards USING btree (set_id);

create table catalog_version (
  only_row boolean default true not null,
  version bigint default 0 not null,
  constraint catalog_version_pkey PRIMARY KEY (only_row),
  constraint catalog_version_only_row_check CHECK (only_row)
);

create table change_followers (
  account_id bigint not null,
  registration bigint generated always as identity not null,
  read_at timestamp with time zone not null,
  constraint change_followers_pkey PRIMARY KEY (account_id),
  constraint change_followers_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);
CREATE INDEX change_followers_read ON public.change_followers USING btree (read_at);

create table changes (
  xid xid8 default pg_current_xact_id() not null,
  id bigint generated always as identity not null,
  account_id bigint not null,
  kind text collate "C" not null,
  record_id bigint not null,
  change text collate "C" not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  constraint changes_change_check CHECK (change = ANY (ARRAY['created'::text, 'updated'::text, 'deleted'::text])),
  constraint changes_kind_check CHECK (kind = ANY (ARRAY['listing'::text, 'order'::text]))
);
CREATE INDEX changes_account ON public.changes USING btree (account_id, xid, id);
CREATE INDEX changes_created ON public.changes USING btree (created_at);

create table checkouts (
  id bigint generated always as identity not null,
  buyer_name text not null,
  buyer_email text not null,
  address jsonb,
  created_at timestamp with time zone not null,
  erased_at timestamp with time zone,
  constraint checkouts_pkey PRIMARY KEY (id),
  constraint checkouts_erased_whole CHECK (erased_at IS NULL OR buyer_name = ''::text AND buyer_email = ''::text AND address IS NULL) NOT VALID
);
CREATE INDEX checkouts_buyer ON public.checkouts USING btree (lower(buyer_email));
CREATE INDEX checkouts_buyer_words ON public.checkouts USING gin (name_words(buyer_name));
CREATE INDEX checkouts_not_erased ON public.checkouts USING btree (created_at, id) WHERE (erased_at IS NULL);

create table clock (
  only_row boolean default true not null,
  advanced_seconds bigint default 0 not null,
  live boolean default false not null,
  key_check bytea,
  constraint clock_pkey PRIMARY KEY (only_row),
  constraint clock_advanced_seconds_check CHECK (advanced_seconds >= 0),
  constraint clock_only_row_check CHECK (only_row)
);

create table count_deltas (
  subject text collate "C" not null,
  account_id bigint not null,
  block bigint not null,
  n1 integer not null,
  n2 integer not null,
  n3 integer not null,
  n4 integer not null,
  n5 integer not null
);
CREATE INDEX count_deltas_account ON public.count_deltas USING btree (subject, account_id);

create table counts (
  subject text collate "C" not null,
  account_id bigint not null,
  level smallint not null,
  block bigint not null,
  n1 integer not null,
  n2 integer not null,
  n3 integer not null,
  n4 integer not null,
  n5 integer not null,
  constraint counts_pkey PRIMARY KEY (subject, account_id, level, block)
);

create table deliveries (
  id bigint generated always as identity not null,
  event_id bigint not null,
  endpoint_id bigint not null,
  status text collate "C" not null,
  attempts jsonb default '[]'::jsonb not null,
  resent_in xid8,
  created_at timestamp with time zone not null,
  is_missed boolean generated always as ((status = ANY (ARRAY['failed'::text, 'skipped'::text]))) stored not null,
  event text collate "C",
  is_skipped boolean default false not null,
  constraint deliveries_pkey PRIMARY KEY (id),
  constraint deliveries_attempts_check CHECK (jsonb_typeof(attempts) = 'array'::text),
  constraint deliveries_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES webhook_endpoints(id),
  constraint deliveries_is_skipped_check CHECK (is_skipped = (status = 'skipped'::text)),
  constraint deliveries_status_check CHECK (status = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text, 'skipped'::text]))
) partition by RANGE (id);
CREATE INDEX deliveries_log ON ONLY public.deliveries USING btree (endpoint_id, id);
CREATE INDEX deliveries_missed ON ONLY public.deliveries USING btree (endpoint_id, id) INCLUDE (is_skipped) WHERE is_missed;
CREATE INDEX deliveries_resent ON ONLY public.deliveries USING btree (endpoint_id, resent_in, event_id) WHERE (resent_in IS NOT NULL);

create table delivery_count_state (
  is_only boolean default true not null,
  counted_to bigint default 0 not null,
  seen_to bigint default 0 not null,
  seen_in xid8 default '0'::xid8 not null,
  constraint delivery_count_state_pkey PRIMARY KEY (is_only),
  constraint delivery_count_state_check CHECK (seen_to >= counted_to),
  constraint delivery_count_state_is_only_check CHECK (is_only)
);

create table delivery_counts (
  endpoint_id bigint not null,
  number bigint not null,
  constraint delivery_counts_pkey PRIMARY KEY (endpoint_id),
  constraint delivery_counts_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES webhook_endpoints(id) ON DELETE CASCADE,
  constraint delivery_counts_number_check CHECK (number >= 0)
);

create table delivery_queue (
  delivery_id bigint not null,
  event_id bigint not null,
  endpoint_id bigint not null,
  tries smallint default 0 not null,
  first_attempt_at timestamp with time zone,
  next_attempt_at timestamp with time zone,
  resend_at timestamp with time zone,
  due_at timestamp with time zone generated always as (LEAST(next_attempt_at, resend_at)) stored not null,
  claim_id bigint,
  leased_until timestamp with time zone,
  constraint delivery_queue_pkey PRIMARY KEY (delivery_id),
  constraint delivery_queue_leased_by CHECK (leased_until IS NULL OR claim_id IS NOT NULL),
  constraint delivery_queue_tried_since CHECK ((tries = 0) = (first_attempt_at IS NULL)),
  constraint delivery_queue_tries_check CHECK (tries >= 0 AND tries <= 5)
);
CREATE INDEX delivery_queue_due ON public.delivery_queue USING btree (endpoint_id, due_at, delivery_id);

create table disputes (
  id bigint generated always as identity not null,
  order_id bigint not null,
  account_id bigint not null,
  reason text collate "C" not null,
  message text,
  opened_at timestamp with time zone not null,
  answer_by timestamp with time zone not null,
  answer text,
  photo_urls text[],
  answered_at timestamp with time zone,
  resolution text collate "C",
  refund_cents bigint,
  resolved_at timestamp with time zone,
  constraint disputes_pkey PRIMARY KEY (id),
  constraint disputes_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint disputes_answered_whole CHECK (num_nonnulls(answer, photo_urls, answered_at) = ANY (ARRAY[0, 3])),
  constraint disputes_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id),
  constraint disputes_reason_check CHECK (reason = ANY (ARRAY['not_received'::text, 'not_as_described'::text, 'damaged'::text, 'other'::text])),
  constraint disputes_refund_cents_check CHECK (refund_cents >= 0),
  constraint disputes_resolution_check CHECK (resolution = ANY (ARRAY['seller'::text, 'buyer'::text])),
  constraint disputes_resolved_whole CHECK (num_nonnulls(resolution, refund_cents, resolved_at) = ANY (ARRAY[0, 3])),
  constraint disputes_time_to_answer CHECK (answer_by > opened_at)
);
CREATE INDEX disputes_account ON public.disputes USING btree (account_id, id);
CREATE INDEX disputes_order ON public.disputes USING btree (order_id, id);
CREATE INDEX disputes_unresolved ON public.disputes USING btree (account_id, id) WHERE (resolved_at IS NULL);
CREATE UNIQUE INDEX disputes_one_open ON public.disputes USING btree (order_id) WHERE (resolved_at IS NULL);

create table events (
  id bigint generated always as identity not null,
  account_id bigint not null,
  event text collate "C" not null,
  data text not null,
  created_at timestamp with time zone not null,
  written_in xid8 default xid_in_epoch(pg_current_xact_id()) not null,
  slice_id bigint,
  constraint events_pkey PRIMARY KEY (id),
  constraint events_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint events_event_check CHECK (event = ANY (ARRAY['order.created'::text, 'order.cancelled'::text, 'order.label_ready'::text, 'listing.sold'::text]))
) partition by RANGE (id);
CREATE INDEX events_slice ON ONLY public.events USING btree (slice_id, id) WHERE (slice_id IS NOT NULL);
CREATE INDEX events_written ON ONLY public.events USING btree (account_id, written_in, id);

create table fee_invoices (
  month date not null,
  number integer not null,
  account_id bigint not null,
  commission_cents bigint not null,
  recipient text,
  constraint fee_invoices_pkey PRIMARY KEY (month, number),
  constraint fee_invoices_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint fee_invoices_commission_cents_check CHECK (commission_cents <> 0),
  constraint fee_invoices_first_day CHECK (EXTRACT(day FROM month) = 1::numeric) NOT VALID,
  constraint fee_invoices_month_fkey FOREIGN KEY (month) REFERENCES invoice_months(month),
  constraint fee_invoices_number_check CHECK (number > 0),
  constraint fee_invoices_one_per_seller UNIQUE (account_id, month)
);

create table idempotency_keys (
  caller text not null,
  operation text not null,
  key text not null,
  request_hash bytea not null,
  status smallint,
  answer text,
  created_at timestamp with time zone not null,
  constraint idempotency_keys_pkey PRIMARY KEY (caller, operation, key)
);
CREATE INDEX idempotency_keys_created ON public.idempotency_keys USING btree (created_at);

create table import_records (
  type text collate "C" not null,
  key text collate "C" not null,
  batch integer not null,
  position bigint not null,
  line json not null,
  record json not null,
  constraint import_records_pkey PRIMARY KEY (type, key)
);
CREATE INDEX import_records_batch ON public.import_records USING btree (batch, "position");

create table invoice_months (
  month date not null,
  issued_at timestamp with time zone not null,
  issuer text,
  constraint invoice_months_pkey PRIMARY KEY (month),
  constraint invoice_months_first_day CHECK (EXTRACT(day FROM month) = 1::numeric) NOT VALID
);

create table ledger_accounts (
  account_id bigint not null,
  kind text collate "C" not null,
  entries bigint not null,
  seller_cents bigint not null,
  constraint ledger_accounts_pkey PRIMARY KEY (account_id, kind),
  constraint ledger_accounts_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint ledger_accounts_entries_check CHECK (entries >= 0)
);

create table ledger_days (
  day date not null,
  kind text collate "C" not null,
  entries bigint not null,
  buyers_cents bigint not null,
  commission_cents bigint not null,
  shipping_cents bigint not null,
  refunds_cents bigint not null,
  payouts_cents bigint not null,
  constraint ledger_days_pkey PRIMARY KEY (day, kind),
  constraint ledger_days_entries_check CHECK (entries >= 0)
);

create table listings (
  id bigint generated always as identity not null,
  account_id bigint not null,
  card_id text collate "C",
  product_slug text collate "C",
  price_cents integer not null,
  quantity integer not null,
  condition text collate "C",
  language text collate "C" not null,
  printing text collate "C" default 'standard'::text not null,
  grading_company text collate "C",
  grading_grade text collate "C",
  description text,
  photos text[] collate "C" default '{}'::text[] not null,
  status text collate "C" default 'active'::text not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  reference text,
  removed_because text,
  constraint listings_pkey PRIMARY KEY (id),
  constraint listings_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint listings_card_id_fkey FOREIGN KEY (card_id) REFERENCES cards(id),
  constraint listings_condition_check CHECK (condition = ANY (ARRAY['M'::text, 'NM'::text, 'LP'::text, 'MP'::text, 'HP'::text, 'DMG'::text, 'G'::text])),
  constraint listings_condition_of_cards CHECK ((condition IS NULL) = (card_id IS NULL)),
  constraint listings_description_check CHECK (char_length(description) >= 1 AND char_length(description) <= 1000),
  constraint listings_grading_company_check CHECK (grading_company = ANY (ARRAY['PSA'::text, 'BGS'::text, 'CGC'::text, 'SGC'::text, 'TAG'::text, 'GRAAD'::text, 'ACE'::text, 'PCA'::text, 'OVERIG'::text])),
  constraint listings_grading_grade_check CHECK (grading_grade ~ '^(10\.0|[1-9]\.[05])$'::text),
  constraint listings_grading_whole CHECK (num_nonnulls(grading_company, grading_grade) =
CASE
    WHEN condition = 'G'::text THEN 2
    ELSE 0
END),
  constraint listings_language_check CHECK (language = ANY (ARRAY['EN'::text, 'NL'::text, 'DE'::text, 'FR'::text, 'JP'::text, 'ES'::text, 'IT'::text, 'PT'::text, 'CN'::text, 'KR'::text])),
  constraint listings_one_thing CHECK (num_nonnulls(card_id, product_slug) = 1),
  constraint listings_price CHECK (price_cents >= 1 AND price_cents <= 9999999),
  constraint listings_printing_check CHECK (printing = ANY (ARRAY['standard'::text, 'reverse_holo'::text, 'holo'::text, 'first_edition'::text, 'shadowless'::text, 'full_art'::text, 'alternate_art'::text, 'promo'::text])),
  constraint listings_product_slug_fkey FOREIGN KEY (product_slug) REFERENCES products(slug),
  constraint listings_quantity CHECK (quantity >= 0),
  constraint listings_reference CHECK (char_length(reference) >= 1 AND char_length(reference) <= 100),
  constraint listings_removed_with_reason CHECK (removed_because IS NULL OR status = 'removed'::text),
  constraint listings_status_check CHECK (status = ANY (ARRAY['active'::text, 'sold'::text, 'hidden'::text, 'removed'::text])),
  constraint listings_status_fits_stock CHECK ((status <> 'active'::text OR quantity > 0) AND (status <> 'sold'::text OR quantity = 0))
);
CREATE INDEX listings_card ON public.listings USING btree (account_id, card_id, id) WHERE ((card_id IS NOT NULL) AND (status <> 'removed'::text));
CREATE INDEX listings_card_offers ON public.listings USING btree (card_id, price_cents, id) WHERE (status = 'active'::text);
CREATE INDEX listings_changes ON public.listings USING btree (account_id, updated_at, id) INCLUDE (status) WHERE (status <> 'removed'::text);
CREATE INDEX listings_newest ON public.listings USING btree (account_id, id) WHERE (status <> 'removed'::text);
CREATE INDEX listings_not_active ON public.listings USING btree (status, id) WHERE (status <> 'active'::text);
CREATE INDEX listings_of_card ON public.listings USING btree (card_id, id) WHERE (card_id IS NOT NULL);
CREATE INDEX listings_of_product ON public.listings USING btree (product_slug, id) WHERE (product_slug IS NOT NULL);
CREATE INDEX listings_product ON public.listings USING btree (account_id, product_slug, id) WHERE ((product_slug IS NOT NULL) AND (status <> 'removed'::text));
CREATE INDEX listings_product_offers ON public.listings USING btree (product_slug, price_cents, id) WHERE ((product_slug IS NOT NULL) AND (status = 'active'::text));
CREATE INDEX listings_status ON public.listings USING btree (account_id, status, id);
CREATE UNIQUE INDEX listings_reference ON public.listings USING btree (account_id, reference) WHERE ((reference IS NOT NULL) AND (status <> 'removed'::text));
CREATE TRIGGER listings_count_change AFTER UPDATE OF status ON listings FOR EACH ROW WHEN (old.status <> new.status) EXECUTE FUNCTION write_delta_of_changed_row('listings', 'active', 'sold', 'hidden', 'removed');
ALTER TABLE listings ENABLE ALWAYS TRIGGER listings_count_change;
CREATE TRIGGER listings_count_delete AFTER DELETE ON listings FOR EACH ROW EXECUTE FUNCTION write_delta_of_deleted_row('listings', 'active', 'sold', 'hidden', 'removed');
ALTER TABLE listings ENABLE ALWAYS TRIGGER listings_count_delete;
CREATE TRIGGER listings_count_new AFTER INSERT ON listings REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION write_deltas_of_new_rows('listings', 'active', 'sold', 'hidden', 'removed');
ALTER TABLE listings ENABLE ALWAYS TRIGGER listings_count_new;
CREATE TRIGGER listings_count_truncate AFTER TRUNCATE ON listings FOR EACH STATEMENT EXECUTE FUNCTION clear_counts('listings');
ALTER TABLE listings ENABLE ALWAYS TRIGGER listings_count_truncate;
CREATE TRIGGER listings_feed_change AFTER UPDATE ON listings REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION write_changes();
ALTER TABLE listings ENABLE ALWAYS TRIGGER listings_feed_change;
CREATE TRIGGER listings_feed_delete AFTER DELETE ON listings REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION write_changes();
ALTER TABLE listings ENABLE ALWAYS TRIGGER listings_feed_delete;
CREATE TRIGGER listings_feed_new AFTER INSERT ON listings REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION write_changes();
ALTER TABLE listings ENABLE ALWAYS TRIGGER listings_feed_new;
CREATE TRIGGER listings_offer_change AFTER UPDATE ON listings FOR EACH ROW WHEN ((old.status = 'active'::text OR new.status = 'active'::text) AND (old.price_cents <> new.price_cents OR old.quantity <> new.quantity OR old.status <> new.status OR old.description IS DISTINCT FROM new.description OR old.photos <> new.photos)) EXECUTE FUNCTION write_changed_offer();
ALTER TABLE listings ENABLE ALWAYS TRIGGER listings_offer_change;
CREATE TRIGGER listings_offer_delete AFTER DELETE ON listings FOR EACH STATEMENT EXECUTE FUNCTION forget_offers();
ALTER TABLE listings ENABLE ALWAYS TRIGGER listings_offer_delete;
CREATE TRIGGER listings_offer_new AFTER INSERT ON listings REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION write_new_offers();
ALTER TABLE listings ENABLE ALWAYS TRIGGER listings_offer_new;
CREATE TRIGGER listings_offer_truncate AFTER TRUNCATE ON listings FOR EACH STATEMENT EXECUTE FUNCTION forget_offers();
ALTER TABLE listings ENABLE ALWAYS TRIGGER listings_offer_truncate;

create table mails (
  id bigint generated always as identity not null,
  recipient text not null,
  subject text not null,
  text text not null,
  status text collate "C" default 'waiting'::text not null,
  attempts smallint default 0 not null,
  next_attempt_at timestamp with time zone,
  leased_until timestamp with time zone,
  error text,
  created_at timestamp with time zone not null,
  sent_at timestamp with time zone,
  slice_id bigint,
  erased boolean default false not null,
  secret text,
  checkout_id bigint,
  account_id bigint,
  is_slow boolean default false not null,
  constraint mails_pkey PRIMARY KEY (id),
  constraint mails_attempts_check CHECK (attempts >= 0),
  constraint mails_failed_have_a_reason CHECK (status <> 'failed'::text OR error IS NOT NULL),
  constraint mails_leased_are_waiting CHECK (leased_until IS NULL OR status = 'waiting'::text),
  constraint mails_sent_have_a_time CHECK ((status = 'sent'::text) = (sent_at IS NOT NULL)),
  constraint mails_status_check CHECK (status = ANY (ARRAY['waiting'::text, 'sent'::text, 'captured'::text, 'logged'::text, 'failed'::text])),
  constraint mails_subject_check CHECK (subject !~ '[\r\n]'::text),
  constraint mails_waiting_have_a_time CHECK ((status = 'waiting'::text) = (next_attempt_at IS NOT NULL))
);
CREATE INDEX mails_done ON public.mails USING btree (created_at) WHERE (status <> 'waiting'::text);
CREATE INDEX mails_due ON public.mails USING btree (next_attempt_at) WHERE (status = 'waiting'::text);
CREATE INDEX mails_due_of_account ON public.mails USING btree (account_id, next_attempt_at, id) WHERE ((status = 'waiting'::text) AND (account_id IS NOT NULL) AND (NOT is_slow));
CREATE INDEX mails_first ON public.mails USING btree (next_attempt_at, id) WHERE ((status = 'waiting'::text) AND (account_id IS NULL) AND (NOT is_slow));
CREATE INDEX mails_recipient ON public.mails USING btree (lower(recipient), id);
CREATE INDEX mails_slice ON public.mails USING btree (slice_id, id) WHERE (slice_id IS NOT NULL);
CREATE INDEX mails_slow ON public.mails USING btree (next_attempt_at, id) WHERE ((status = 'waiting'::text) AND is_slow);
CREATE TRIGGER mails_blank_erased BEFORE UPDATE ON mails FOR EACH ROW WHEN (new.erased) EXECUTE FUNCTION blank_erased_mail();

create table member_sessions (
  id bigint generated always as identity not null,
  member_id bigint not null,
  token_hash bytea not null,
  user_agent text,
  address text,
  created_at timestamp with time zone not null,
  last_used_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  constraint member_sessions_pkey PRIMARY KEY (id),
  constraint member_sessions_member_id_fkey FOREIGN KEY (member_id) REFERENCES members(id) ON DELETE CASCADE,
  constraint member_sessions_token_hash_check CHECK (octet_length(token_hash) = 32)
);
CREATE INDEX member_sessions_expired ON public.member_sessions USING btree (expires_at);
CREATE INDEX member_sessions_member ON public.member_sessions USING btree (member_id, id);
CREATE UNIQUE INDEX member_sessions_token ON public.member_sessions USING btree (token_hash);

create table member_tokens (
  member_id bigint not null,
  purpose text not null,
  token_hash bytea not null,
  email text,
  expires_at timestamp with time zone not null,
  constraint member_tokens_pkey PRIMARY KEY (member_id, purpose),
  constraint member_tokens_confirm_an_address CHECK ((purpose = 'email'::text) = (email IS NOT NULL)),
  constraint member_tokens_member_id_fkey FOREIGN KEY (member_id) REFERENCES members(id) ON DELETE CASCADE,
  constraint member_tokens_purpose_check CHECK (purpose = ANY (ARRAY['invitation'::text, 'reset'::text, 'email'::text])),
  constraint member_tokens_token_hash_check CHECK (octet_length(token_hash) = 32)
);
CREATE INDEX member_tokens_expired ON public.member_tokens USING btree (expires_at);
CREATE UNIQUE INDEX member_tokens_token ON public.member_tokens USING btree (token_hash);

create table members (
  id bigint generated always as identity not null,
  account_id bigint not null,
  email text not null,
  password_hash text,
  created_at timestamp with time zone not null,
  constraint members_pkey PRIMARY KEY (id),
  constraint members_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);
CREATE INDEX members_account ON public.members USING btree (account_id, id);
CREATE UNIQUE INDEX members_email_taken ON public.members USING btree (lower(email));

create table migrations (
  version integer not null,
  name text not null,
  applied_at timestamp with time zone default clock_timestamp() not null,
  constraint migrations_pkey PRIMARY KEY (version)
);

create table month_balances (
  account_id bigint not null,
  month date not null,
  cents bigint not null,
  constraint month_balances_pkey PRIMARY KEY (account_id, month),
  constraint month_balances_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint month_balances_first_day CHECK (EXTRACT(day FROM month) = 1::numeric) NOT VALID
);

create table notices (
  id bigint generated always as identity not null,
  account_id bigint not null,
  kind text not null,
  subject_id bigint not null,
  data jsonb not null,
  count integer default 1 not null,
  created_at timestamp with time zone not null,
  constraint notices_pkey PRIMARY KEY (id),
  constraint notices_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  constraint notices_count_check CHECK (count > 0),
  constraint notices_kind_check CHECK (kind = ANY (ARRAY['endpoint_disabled'::text, 'key_rotated'::text, 'photo_failed'::text, 'payout_setup_missing'::text])),
  constraint notices_one_per_subject UNIQUE (account_id, kind, subject_id)
);

create table oauth_clients (
  id text not null,
  name text not null,
  redirect_uris text[] not null,
  keep_until timestamp with time zone not null,
  constraint oauth_clients_pkey PRIMARY KEY (id)
);
CREATE INDEX oauth_clients_unused ON public.oauth_clients USING btree (keep_until);

create table oauth_devices (
  device_hash bytea not null,
  user_code_hash bytea not null,
  client_id text not null,
  audience text not null,
  scopes text[] not null,
  grant_id bigint,
  refused boolean default false not null,
  interval_seconds integer default 5 not null,
  polled_at timestamp with time zone,
  expires_at timestamp with time zone not null,
  constraint oauth_devices_pkey PRIMARY KEY (device_hash),
  constraint oauth_devices_device_hash_check CHECK (octet_length(device_hash) = 32),
  constraint oauth_devices_grant_id_fkey FOREIGN KEY (grant_id) REFERENCES oauth_grants(id) ON DELETE CASCADE,
  constraint oauth_devices_user_code_hash_check CHECK (octet_length(user_code_hash) = 32)
);
CREATE INDEX oauth_devices_expired ON public.oauth_devices USING btree (expires_at);
CREATE INDEX oauth_devices_grant ON public.oauth_devices USING btree (grant_id);
CREATE UNIQUE INDEX oauth_devices_user_code ON public.oauth_devices USING btree (user_code_hash);

create table oauth_grants (
  id bigint generated always as identity not null,
  member_id bigint not null,
  client_id text not null,
  client_name text not null,
  host text,
  audience text not null,
  scopes text[] not null,
  created_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  ends_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  constraint oauth_grants_pkey PRIMARY KEY (id),
  constraint oauth_grants_known_scopes CHECK (scopes <@ ARRAY['catalog:read'::text, 'listings:read'::text, 'listings:write'::text, 'orders:read'::text, 'orders:write'::text, 'webhooks:manage'::text]),
  constraint oauth_grants_member_id_fkey FOREIGN KEY (member_id) REFERENCES members(id) ON DELETE CASCADE
);
CREATE INDEX oauth_grants_client ON public.oauth_grants USING btree (client_id);
CREATE INDEX oauth_grants_expired ON public.oauth_grants USING btree (expires_at);
CREATE INDEX oauth_grants_member ON public.oauth_grants USING btree (member_id, id);

create table oauth_steps (
  uid_hash bytea not null,
  member_id bigint not null,
  request jsonb not null,
  expires_at timestamp with time zone not null,
  constraint oauth_steps_pkey PRIMARY KEY (uid_hash),
  constraint oauth_steps_member_id_fkey FOREIGN KEY (member_id) REFERENCES members(id) ON DELETE CASCADE,
  constraint oauth_steps_uid_hash_check CHECK (octet_length(uid_hash) = 32)
);
CREATE INDEX oauth_steps_expired ON public.oauth_steps USING btree (expires_at);
CREATE INDEX oauth_steps_member ON public.oauth_steps USING btree (member_id, expires_at);

create table oauth_tokens (
  token_hash bytea not null,
  kind text not null,
  grant_id bigint not null,
  used_at timestamp with time zone,
  redirect_uri text,
  code_challenge text,
  expires_at timestamp with time zone not null,
  scopes text[],
  constraint oauth_tokens_pkey PRIMARY KEY (token_hash),
  constraint oauth_tokens_codes_have_a_challenge CHECK ((kind = 'code'::text) = (redirect_uri IS NOT NULL AND code_challenge IS NOT NULL)),
  constraint oauth_tokens_grant_id_fkey FOREIGN KEY (grant_id) REFERENCES oauth_grants(id) ON DELETE CASCADE,
  constraint oauth_tokens_kind_check CHECK (kind = ANY (ARRAY['code'::text, 'access'::text, 'refresh'::text])),
  constraint oauth_tokens_token_hash_check CHECK (octet_length(token_hash) = 32)
);
CREATE INDEX oauth_tokens_access ON public.oauth_tokens USING btree (grant_id, expires_at) WHERE (kind = 'access'::text);
CREATE INDEX oauth_tokens_expired ON public.oauth_tokens USING btree (expires_at);
CREATE INDEX oauth_tokens_grant ON public.oauth_tokens USING btree (grant_id);

create table offer_changes (
  xid xid8 default pg_current_xact_id() not null,
  listing_ids bigint[] default '{}'::bigint[],
  account_ids bigint[] default '{}'::bigint[] not null
);
CREATE INDEX offer_changes_xid ON public.offer_changes USING btree (xid);

create table orders (
  id bigint generated always as identity not null,
  slice_id bigint not null,
  account_id bigint not null,
  listing_id bigint,
  status text collate "C" default 'pending'::text not null,
  quantity integer not null,
  price_cents integer not null,
  item_type text collate "C",
  item_id text collate "C",
  item_friendly_id text,
  item_name text,
  item_subtitle text,
  item_image text,
  item_condition text collate "C",
  item_language text collate "C",
  commission_rate integer not null,
  commission_cents bigint not null,
  refunded_cents bigint default 0 not null,
  tracking_code text,
  cancelled_by text collate "C",
  created_at timestamp with time zone not null,
  shipped_at timestamp with time zone,
  received_at timestamp with time zone,
  cancelled_at timestamp with time zone,
  disputed_at timestamp with time zone,
  cancel_reason text collate "C",
  resolved_at timestamp with time zone,
  changed_at timestamp with time zone,
  updated_at timestamp with time zone generated always as (GREATEST(created_at, shipped_at, received_at, cancelled_at, disputed_at, resolved_at, changed_at)) stored not null,
  constraint orders_pkey PRIMARY KEY (id),
  constraint orders_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint orders_cancel_reason_check CHECK (cancel_reason = ANY (ARRAY['out_of_stock'::text, 'buyer_asked'::text, 'other'::text])),
  constraint orders_cancelled_are_refunded CHECK (status <> 'cancelled'::text OR refunded_cents = (price_cents::bigint * quantity)),
  constraint orders_cancelled_by_check CHECK (cancelled_by = ANY (ARRAY['buyer'::text, 'seller'::text, 'admin'::text, 'system'::text])),
  constraint orders_cancelled_whole CHECK ((status = 'cancelled'::text) = (cancelled_at IS NOT NULL) AND (cancelled_at IS NULL) = (cancelled_by IS NULL)),
  constraint orders_commission_cents_check CHECK (commission_cents >= 0),
  constraint orders_commission_rate_check CHECK (commission_rate >= 0 AND commission_rate <= 10000),
  constraint orders_commission_within_price CHECK (commission_cents <= (price_cents::bigint * quantity)),
  constraint orders_disputed_when CHECK (status <> 'disputed'::text OR disputed_at IS NOT NULL),
  constraint orders_item_type_check CHECK (item_type = ANY (ARRAY['card'::text, 'product'::text])),
  constraint orders_listing_id_fkey FOREIGN KEY (listing_id) REFERENCES listings(id),
  constraint orders_one_per_listing UNIQUE (slice_id, listing_id),
  constraint orders_pending_without_times CHECK (status <> 'pending'::text OR num_nonnulls(shipped_at, received_at, disputed_at) = 0),
  constraint orders_price_cents_check CHECK (price_cents > 0),
  constraint orders_quantity_check CHECK (quantity > 0),
  constraint orders_reason_of_a_cancellation CHECK (cancel_reason IS NULL OR cancelled_at IS NOT NULL),
  constraint orders_received_when CHECK (status <> 'received'::text OR received_at IS NOT NULL),
  constraint orders_refund_within_price CHECK (refunded_cents <= (price_cents::bigint * quantity)),
  constraint orders_refunded_cents_check CHECK (refunded_cents >= 0),
  constraint orders_shipped_when CHECK ((status <> ALL (ARRAY['shipped'::text, 'received'::text, 'disputed'::text])) OR shipped_at IS NOT NULL),
  constraint orders_slice_id_fkey FOREIGN KEY (slice_id) REFERENCES slices(id),
  constraint orders_status_check CHECK (status = ANY (ARRAY['pending'::text, 'shipped'::text, 'received'::text, 'cancelled'::text, 'disputed'::text])),
  constraint orders_tracking_code_check CHECK (char_length(tracking_code) <= 100)
);
CREATE INDEX orders_changes ON public.orders USING btree (account_id, updated_at, id) INCLUDE (status, shipped_at, price_cents, quantity);
CREATE INDEX orders_created ON public.orders USING btree (created_at, id);
CREATE INDEX orders_listing ON public.orders USING btree (listing_id) WHERE (listing_id IS NOT NULL);
CREATE INDEX orders_newest ON public.orders USING btree (account_id, created_at, id) INCLUDE (status, price_cents, quantity, commission_cents);
CREATE INDEX orders_not_received ON public.orders USING btree (account_id, status, updated_at, id) WHERE (status <> 'received'::text);
CREATE INDEX orders_of_status ON public.orders USING btree (status, created_at, id);
CREATE INDEX orders_shipped ON public.orders USING btree (shipped_at) WHERE (status = 'shipped'::text);
CREATE INDEX orders_slice ON public.orders USING btree (slice_id, id);
CREATE INDEX orders_status ON public.orders USING btree (account_id, status, created_at, id) INCLUDE (slice_id);
CREATE TRIGGER orders_count_change AFTER UPDATE OF status ON orders FOR EACH ROW WHEN (old.status <> new.status) EXECUTE FUNCTION write_delta_of_changed_row('orders', 'pending', 'shipped', 'received', 'cancelled', 'disputed');
ALTER TABLE orders ENABLE ALWAYS TRIGGER orders_count_change;
CREATE TRIGGER orders_count_delete AFTER DELETE ON orders FOR EACH ROW EXECUTE FUNCTION write_delta_of_deleted_row('orders', 'pending', 'shipped', 'received', 'cancelled', 'disputed');
ALTER TABLE orders ENABLE ALWAYS TRIGGER orders_count_delete;
CREATE TRIGGER orders_count_new AFTER INSERT ON orders REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION write_deltas_of_new_rows('orders', 'pending', 'shipped', 'received', 'cancelled', 'disputed');
ALTER TABLE orders ENABLE ALWAYS TRIGGER orders_count_new;
CREATE TRIGGER orders_count_truncate AFTER TRUNCATE ON orders FOR EACH STATEMENT EXECUTE FUNCTION clear_counts('orders');
ALTER TABLE orders ENABLE ALWAYS TRIGGER orders_count_truncate;
CREATE TRIGGER orders_feed_change AFTER UPDATE ON orders REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION write_changes();
ALTER TABLE orders ENABLE ALWAYS TRIGGER orders_feed_change;
CREATE TRIGGER orders_feed_new AFTER INSERT ON orders REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION write_changes();
ALTER TABLE orders ENABLE ALWAYS TRIGGER orders_feed_new;

create table payout_deductions (
  payout_id bigint not null,
  posting_id bigint not null,
  amount_cents bigint not null,
  order_ids bigint[] not null,
  constraint payout_deductions_pkey PRIMARY KEY (payout_id, posting_id),
  constraint payout_deductions_amount_cents_check CHECK (amount_cents > 0),
  constraint payout_deductions_payout_id_fkey FOREIGN KEY (payout_id) REFERENCES payouts(id),
  constraint payout_deductions_posting_id_fkey FOREIGN KEY (posting_id) REFERENCES postings(id)
);
CREATE INDEX payout_deductions_posting ON public.payout_deductions USING btree (posting_id);
CREATE TRIGGER payout_deductions_add_up AFTER INSERT ON payout_deductions REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION check_deductions();
CREATE TRIGGER payout_deductions_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON payout_deductions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table payout_runs (
  id bigint generated always as identity not null,
  day date,
  count integer default 0 not null,
  total_cents bigint default 0 not null,
  created_at timestamp with time zone not null,
  debtor_name text,
  debtor_iban text,
  constraint payout_runs_pkey PRIMARY KEY (id),
  constraint payout_runs_count_check CHECK (count >= 0),
  constraint payout_runs_daily UNIQUE (day),
  constraint payout_runs_debtor_whole CHECK (num_nonnulls(debtor_name, debtor_iban) <> 1),
  constraint payout_runs_total_cents_check CHECK (total_cents >= 0)
);

create table payout_setup_changes (
  account_id bigint not null,
  holder text not null,
  iban bytea not null,
  iban_last4 text not null,
  country text collate "C" not null,
  token_hash text collate "C" not null,
  expires_at timestamp with time zone not null,
  constraint payout_setup_changes_pkey PRIMARY KEY (account_id),
  constraint payout_setup_changes_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  constraint payout_setup_changes_holder_check CHECK (holder <> ''::text),
  constraint payout_setup_changes_iban_last4_check CHECK (char_length(iban_last4) = 4)
);

create table payout_setups (
  account_id bigint not null,
  holder text not null,
  iban bytea not null,
  iban_last4 text not null,
  country text collate "C" not null,
  rejected_because text,
  hold_until timestamp with time zone,
  submitted_at timestamp with time zone not null,
  constraint payout_setups_pkey PRIMARY KEY (account_id),
  constraint payout_setups_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  constraint payout_setups_holder_check CHECK (holder <> ''::text),
  constraint payout_setups_iban_last4_check CHECK (char_length(iban_last4) = 4)
);
CREATE INDEX payout_setups_submitted ON public.payout_setups USING btree (submitted_at, account_id);

create table payout_transfers (
  run_id bigint not null,
  payout_id bigint not null,
  account_id bigint not null,
  reference text collate "C" not null,
  amount_cents bigint not null,
  holder text not null,
  iban bytea not null,
  constraint payout_transfers_pkey PRIMARY KEY (run_id, payout_id),
  constraint payout_transfers_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint payout_transfers_amount_cents_check CHECK (amount_cents > 0),
  constraint payout_transfers_reference UNIQUE (reference),
  constraint payout_transfers_run_id_fkey FOREIGN KEY (run_id) REFERENCES payout_runs(id),
  constraint payout_transfers_to_own_account FOREIGN KEY (payout_id, account_id) REFERENCES payouts(id, account_id)
);
CREATE INDEX payout_transfers_payout ON public.payout_transfers USING btree (payout_id);
CREATE TRIGGER payout_transfers_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON payout_transfers FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table payouts (
  id bigint generated always as identity not null,
  account_id bigint not null,
  slice_id bigint not null,
  amount_cents bigint not null,
  deducted_cents bigint default 0 not null,
  state text collate "C" default 'due'::text not null,
  reason text,
  reference text collate "C" default ('CS'::text || upper("left"(replace((gen_random_uuid())::text, '-'::text, ''::text), 18))) not null,
  posting_id bigint,
  created_at timestamp with time zone not null,
  sent_at timestamp with time zone,
  paid_at timestamp with time zone,
  constraint payouts_pkey PRIMARY KEY (id),
  constraint payouts_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint payouts_amount_cents_check CHECK (amount_cents >= 0),
  constraint payouts_deducted_cents_check CHECK (deducted_cents >= 0),
  constraint payouts_due_amount CHECK (state <> 'due'::text OR amount_cents > 0),
  constraint payouts_failed_why CHECK (state <> 'failed'::text OR reason IS NOT NULL),
  constraint payouts_paid_when CHECK ((state = 'paid'::text) = (paid_at IS NOT NULL)),
  constraint payouts_posting_id_fkey FOREIGN KEY (posting_id) REFERENCES postings(id),
  constraint payouts_reference UNIQUE (reference),
  constraint payouts_sent_whole CHECK ((state <> ALL (ARRAY['sent'::text, 'paid'::text])) OR num_nonnulls(posting_id, sent_at) = 2),
  constraint payouts_slice_id_fkey FOREIGN KEY (slice_id) REFERENCES slices(id),
  constraint payouts_state_check CHECK (state = ANY (ARRAY['due'::text, 'sent'::text, 'paid'::text, 'failed'::text]))
);
CREATE INDEX payouts_due ON public.payouts USING btree (account_id, id) INCLUDE (slice_id, created_at, reason) WHERE (state = 'due'::text);
CREATE INDEX payouts_failed ON public.payouts USING btree (account_id) WHERE (state = 'failed'::text);
CREATE INDEX payouts_sent ON public.payouts USING btree (account_id, sent_at) WHERE (sent_at IS NOT NULL);
CREATE INDEX payouts_slice ON public.payouts USING btree (slice_id, id);
CREATE INDEX payouts_state ON public.payouts USING btree (state, id);
CREATE UNIQUE INDEX payouts_one_due_per_slice ON public.payouts USING btree (slice_id) WHERE (state = 'due'::text);
CREATE UNIQUE INDEX payouts_one_per_posting ON public.payouts USING btree (posting_id) WHERE (posting_id IS NOT NULL);
CREATE TRIGGER payouts_count AFTER INSERT OR DELETE OR UPDATE OF state ON payouts FOR EACH ROW EXECUTE FUNCTION write_payout_delta();
ALTER TABLE payouts ENABLE ALWAYS TRIGGER payouts_count;
CREATE TRIGGER payouts_count_truncate AFTER TRUNCATE ON payouts FOR EACH STATEMENT EXECUTE FUNCTION clear_counts('payouts');
ALTER TABLE payouts ENABLE ALWAYS TRIGGER payouts_count_truncate;

create table photos (
  id bigint generated always as identity not null,
  listing_id bigint not null,
  position smallint not null,
  url text not null,
  status text collate "C" default 'waiting'::text not null,
  attempts smallint default 0 not null,
  next_attempt_at timestamp with time zone,
  leased_until timestamp with time zone,
  error text,
  name text collate "C",
  created_at timestamp with time zone not null,
  account_id bigint,
  delete_at timestamp with time zone,
  constraint photos_pkey PRIMARY KEY (id),
  constraint photos_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint photos_attempts_check CHECK (attempts >= 0),
  constraint photos_failed_have_a_reason CHECK (status <> 'failed'::text OR error IS NOT NULL),
  constraint photos_listing_id_fkey FOREIGN KEY (listing_id) REFERENCES listings(id),
  constraint photos_name_key UNIQUE (name),
  constraint photos_place UNIQUE (listing_id, "position"),
  constraint photos_position_check CHECK ("position" >= 0),
  constraint photos_status_check CHECK (status = ANY (ARRAY['waiting'::text, 'stored'::text, 'failed'::text])),
  constraint photos_stored_have_a_name CHECK ((status = 'stored'::text) = (name IS NOT NULL)),
  constraint photos_waiting_have_a_time CHECK ((status = 'waiting'::text) = (next_attempt_at IS NOT NULL)),
  constraint photos_waiting_have_an_account CHECK (status <> 'waiting'::text OR account_id IS NOT NULL)
);
CREATE INDEX photos_due ON public.photos USING btree (next_attempt_at) WHERE (status = 'waiting'::text);
CREATE INDEX photos_due_of_account ON public.photos USING btree (account_id, next_attempt_at, id) WHERE (status = 'waiting'::text);
CREATE INDEX photos_to_delete ON public.photos USING btree (delete_at) WHERE (delete_at IS NOT NULL);

create table posting_count_state (
  is_only boolean default true not null,
  counted_to bigint default 0 not null,
  seen_to bigint default 0 not null,
  seen_in xid8 default '0'::xid8 not null,
  constraint posting_count_state_pkey PRIMARY KEY (is_only),
  constraint posting_count_state_check CHECK (seen_to >= counted_to),
  constraint posting_count_state_is_only_check CHECK (is_only)
);

create table postings (
  id bigint generated always as identity not null,
  kind text collate "C" not null,
  account_id bigint not null,
  slice_id bigint not null,
  order_id bigint,
  buyers_cents bigint default 0 not null,
  seller_cents bigint default 0 not null,
  commission_cents bigint default 0 not null,
  shipping_cents bigint default 0 not null,
  refunds_cents bigint default 0 not null,
  payouts_cents bigint default 0 not null,
  reason text,
  created_at timestamp with time zone not null,
  constraint postings_pkey PRIMARY KEY (id),
  constraint postings_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint postings_fit_kind CHECK (
CASE kind
    WHEN 'sale'::text THEN buyers_cents < 0 AND seller_cents >= 0 AND commission_cents >= 0 AND shipping_cents = 0 AND refunds_cents = 0 AND payouts_cents = 0
    WHEN 'shipping'::text THEN buyers_cents < 0 AND seller_cents >= 0 AND shipping_cents >= 0 AND commission_cents = 0 AND refunds_cents = 0 AND payouts_cents = 0
    WHEN 'refund'::text THEN refunds_cents > 0 AND seller_cents <= 0 AND commission_cents <= 0 AND buyers_cents = 0 AND shipping_cents = 0 AND payouts_cents = 0
    WHEN 'cancellation'::text THEN refunds_cents >= 0 AND buyers_cents = 0 AND shipping_cents = 0 AND payouts_cents = 0
    WHEN 'shipping_refund'::text THEN refunds_cents > 0 AND seller_cents <= 0 AND shipping_cents <= 0 AND buyers_cents = 0 AND commission_cents = 0 AND payouts_cents = 0
    WHEN 'payout'::text THEN seller_cents < 0 AND payouts_cents = (- seller_cents) AND buyers_cents = 0 AND commission_cents = 0 AND shipping_cents = 0 AND refunds_cents = 0
    ELSE seller_cents > 0 AND payouts_cents = (- seller_cents) AND buyers_cents = 0 AND commission_cents = 0 AND shipping_cents = 0 AND refunds_cents = 0
END) NOT VALID,
  constraint postings_kind_check CHECK (kind = ANY (ARRAY['sale'::text, 'shipping'::text, 'refund'::text, 'cancellation'::text, 'shipping_refund'::text, 'payout'::text, 'payout_failed'::text, 'recovery'::text])),
  constraint postings_of_a_row CHECK ((kind = ANY (ARRAY['sale'::text, 'refund'::text, 'cancellation'::text])) = (order_id IS NOT NULL)),
  constraint postings_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id),
  constraint postings_slice_id_fkey FOREIGN KEY (slice_id) REFERENCES slices(id),
  constraint postings_sum_to_zero CHECK ((buyers_cents + seller_cents + commission_cents + shipping_cents + refunds_cents + payouts_cents) = 0)
);
CREATE INDEX postings_account ON public.postings USING btree (account_id, created_at, id);
CREATE INDEX postings_created ON public.postings USING btree (created_at, id);
CREATE INDEX postings_rare ON public.postings USING btree (kind, created_at, id) WHERE (kind <> ALL (ARRAY['sale'::text, 'shipping'::text, 'payout'::text]));
CREATE INDEX postings_slice ON public.postings USING btree (slice_id, id);
CREATE UNIQUE INDEX postings_cancelled_once ON public.postings USING btree (order_id) WHERE (kind = 'cancellation'::text);
CREATE UNIQUE INDEX postings_shipping_once ON public.postings USING btree (slice_id) WHERE (kind = 'shipping'::text);
CREATE UNIQUE INDEX postings_shipping_refunded_once ON public.postings USING btree (slice_id) WHERE (kind = 'shipping_refund'::text);
CREATE UNIQUE INDEX postings_sold_once ON public.postings USING btree (order_id) WHERE (kind = 'sale'::text);
CREATE TRIGGER postings_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON postings FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table products (
  slug text collate "C" not null,
  name text not null,
  category text not null,
  set_id text collate "C",
  image_url text,
  release_date date,
  version bigint not null,
  visible boolean default true not null,
  constraint products_pkey PRIMARY KEY (slug),
  constraint products_set_id_fkey FOREIGN KEY (set_id) REFERENCES sets(id)
);
CREATE INDEX products_set ON public.products USING btree (set_id);
CREATE INDEX products_version ON public.products USING btree (version);

create table removed_listings (
  listing_id bigint not null,
  constraint removed_listings_pkey PRIMARY KEY (listing_id),
  constraint removed_listings_listing_id_fkey FOREIGN KEY (listing_id) REFERENCES listings(id)
);

create table reservations (
  id bigint generated always as identity not null,
  listing_id bigint not null,
  cart_id text not null,
  quantity integer not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  constraint reservations_pkey PRIMARY KEY (id),
  constraint reservations_cart_id_check CHECK (cart_id <> ''::text),
  constraint reservations_check CHECK (expires_at > created_at),
  constraint reservations_listing_id_fkey FOREIGN KEY (listing_id) REFERENCES listings(id),
  constraint reservations_quantity_check CHECK (quantity > 0)
);
CREATE INDEX reservations_cart ON public.reservations USING btree (cart_id);
CREATE INDEX reservations_expired ON public.reservations USING btree (expires_at);
CREATE INDEX reservations_listing ON public.reservations USING btree (listing_id, expires_at) INCLUDE (quantity);
CREATE TRIGGER reservations_offer_delete AFTER DELETE ON reservations FOR EACH ROW WHEN (old.expires_at > clock_timestamp()) EXECUTE FUNCTION write_changed_reservation();
ALTER TABLE reservations ENABLE ALWAYS TRIGGER reservations_offer_delete;
CREATE TRIGGER reservations_offer_new AFTER INSERT OR UPDATE ON reservations FOR EACH ROW EXECUTE FUNCTION write_changed_reservation();
ALTER TABLE reservations ENABLE ALWAYS TRIGGER reservations_offer_new;
CREATE TRIGGER reservations_offer_truncate AFTER TRUNCATE ON reservations FOR EACH STATEMENT EXECUTE FUNCTION forget_offers();
ALTER TABLE reservations ENABLE ALWAYS TRIGGER reservations_offer_truncate;

create table retention (
  table_name text not null,
  kept_from bigint default 0 not null,
  constraint retention_pkey PRIMARY KEY (table_name),
  constraint retention_table_name_check CHECK (table_name = ANY (ARRAY['events'::text, 'deliveries'::text]))
);

create table reviews (
  id bigint generated always as identity not null,
  slice_id bigint not null,
  order_id bigint not null,
  account_id bigint not null,
  stars smallint not null,
  text text,
  reply text,
  replied_at timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  removed_because text,
  removed_at timestamp with time zone,
  constraint reviews_pkey PRIMARY KEY (id),
  constraint reviews_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint reviews_one_per_slice UNIQUE (slice_id),
  constraint reviews_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id),
  constraint reviews_removed_whole CHECK (num_nonnulls(removed_because, removed_at) = ANY (ARRAY[0, 2])),
  constraint reviews_replied_whole CHECK (num_nonnulls(reply, replied_at) = ANY (ARRAY[0, 2])),
  constraint reviews_slice_id_fkey FOREIGN KEY (slice_id) REFERENCES slices(id),
  constraint reviews_stars_check CHECK (stars >= 1 AND stars <= 5)
);
CREATE INDEX reviews_account ON public.reviews USING btree (account_id, id);
CREATE INDEX reviews_shown ON public.reviews USING btree (account_id, id) WHERE (removed_at IS NULL);

create table series (
  name text collate "C" not null,
  shortcut text collate "C",
  constraint series_pkey PRIMARY KEY (name),
  constraint series_shortcut_key UNIQUE (shortcut)
);

create table server_epoch (
  only_row boolean default true not null,
  system_identifier bigint not null,
  epoch bigint not null,
  constraint server_epoch_pkey PRIMARY KEY (only_row),
  constraint server_epoch_only_row_check CHECK (only_row)
);

create table sets (
  id text collate "C" not null,
  shortcut text collate "C",
  name text not null,
  series text collate "C" not null,
  language text not null,
  region text not null,
  release_date date,
  total_cards integer,
  printed_total integer,
  logo_url text,
  symbol_url text,
  version bigint not null,
  visible boolean default true not null,
  constraint sets_pkey PRIMARY KEY (id),
  constraint sets_printed_total_check CHECK (printed_total >= 0),
  constraint sets_series_fkey FOREIGN KEY (series) REFERENCES series(name),
  constraint sets_shortcut_check CHECK (shortcut = lower(shortcut) AND POSITION(('_'::text) IN (shortcut)) = 0),
  constraint sets_total_cards_check CHECK (total_cards >= 0)
);
CREATE INDEX sets_series ON public.sets USING btree (series);
CREATE INDEX sets_version ON public.sets USING btree (version);

create table shipments (
  slice_id bigint not null,
  order_id bigint not null,
  reference text collate "C" not null,
  provider text collate "C" not null,
  state text collate "C" not null,
  in_doubt boolean not null,
  lines integer not null,
  attempts integer default 0 not null,
  leased_until timestamp with time zone,
  carrier_id text collate "C",
  status text collate "C",
  message text,
  carrier_code text,
  label_name text collate "C" not null,
  link_nonce text collate "C",
  link_expires_at timestamp with time zone,
  poll_at timestamp with time zone,
  polls integer default 0 not null,
  created_at timestamp with time zone not null,
  bought_at timestamp with time zone,
  reminded_at timestamp with time zone,
  is_void boolean default false not null,
  constraint shipments_pkey PRIMARY KEY (slice_id),
  constraint shipments_attempts_check CHECK (attempts >= 0),
  constraint shipments_bought_are_certain CHECK (state = 'buying'::text OR NOT in_doubt),
  constraint shipments_bought_whole CHECK (num_nonnulls(carrier_id, status, bought_at) =
CASE state
    WHEN 'bought'::text THEN 3
    ELSE 0
END),
  constraint shipments_label_name UNIQUE (label_name),
  constraint shipments_lines_check CHECK (lines > 0),
  constraint shipments_link_to_a_label CHECK (link_nonce IS NULL OR NOT status IS DISTINCT FROM 'ready'::text),
  constraint shipments_link_whole CHECK (num_nonnulls(link_nonce, link_expires_at) = ANY (ARRAY[0, 2])),
  constraint shipments_once_at_the_carrier UNIQUE (provider, carrier_id),
  constraint shipments_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id),
  constraint shipments_polls_check CHECK (polls >= 0),
  constraint shipments_reference UNIQUE (reference),
  constraint shipments_slice_id_fkey FOREIGN KEY (slice_id) REFERENCES slices(id),
  constraint shipments_state_check CHECK (state = ANY (ARRAY['buying'::text, 'bought'::text])),
  constraint shipments_status_check CHECK (status = ANY (ARRAY['ready'::text, 'processing'::text, 'action_required'::text])),
  constraint shipments_void_labels_are_withheld CHECK (NOT is_void OR NOT status IS DISTINCT FROM 'action_required'::text)
);
CREATE INDEX shipments_newest ON public.shipments USING btree (created_at, slice_id);
CREATE INDEX shipments_poll ON public.shipments USING btree (poll_at) WHERE (poll_at IS NOT NULL);
CREATE TRIGGER shipments_count AFTER INSERT OR DELETE OR UPDATE OF state, in_doubt ON shipments FOR EACH ROW EXECUTE FUNCTION write_shipment_delta();
ALTER TABLE shipments ENABLE ALWAYS TRIGGER shipments_count;
CREATE TRIGGER shipments_count_truncate AFTER TRUNCATE ON shipments FOR EACH STATEMENT EXECUTE FUNCTION clear_counts('shipments');
ALTER TABLE shipments ENABLE ALWAYS TRIGGER shipments_count_truncate;

create table shipping_options (
  account_id bigint not null,
  code text not null,
  position integer not null,
  name text not null,
  fulfilment text not null,
  tracked boolean not null,
  price_cents integer not null,
  enabled boolean not null,
  countries text[],
  max_value_cents integer,
  constraint shipping_options_pkey PRIMARY KEY (account_id, code),
  constraint shipping_options_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  constraint shipping_options_countries_check CHECK (cardinality(countries) > 0),
  constraint shipping_options_fulfilment_check CHECK (fulfilment = ANY (ARRAY['platform'::text, 'self_ship'::text])),
  constraint shipping_options_max_value_cents_check CHECK (max_value_cents >= 0),
  constraint shipping_options_position_check CHECK ("position" >= 0),
  constraint shipping_options_price_cents_check CHECK (price_cents >= 0)
);

create table simulated_carrier (
  only_row boolean default true not null,
  label text collate "C" default 'ready'::text not null,
  tracking text collate "C" default 'immediate'::text not null,
  constraint simulated_carrier_pkey PRIMARY KEY (only_row),
  constraint simulated_carrier_label_check CHECK (label = ANY (ARRAY['ready'::text, 'processing'::text, 'action_required'::text, 'error'::text])),
  constraint simulated_carrier_only_row_check CHECK (only_row),
  constraint simulated_carrier_tracking_check CHECK (tracking = ANY (ARRAY['immediate'::text, 'late'::text]))
);

create table simulated_shipments (
  id bigint generated always as identity not null,
  reference text collate "C" not null,
  status text collate "C" not null,
  tells_code boolean not null,
  parcel jsonb not null,
  created_at timestamp with time zone not null,
  constraint simulated_shipments_pkey PRIMARY KEY (id),
  constraint simulated_shipments_reference_key UNIQUE (reference),
  constraint simulated_shipments_status_check CHECK (status = ANY (ARRAY['ready'::text, 'processing'::text, 'action_required'::text]))
);

create table slices (
  id bigint generated always as identity not null,
  checkout_id bigint not null,
  account_id bigint not null,
  slice_key text collate "C" not null,
  shipping_code text not null,
  shipping_method text not null,
  fulfilment text collate "C" not null,
  tracked boolean not null,
  shipping_cents integer not null,
  tracking_code text,
  tracking_url text,
  tracking_status text,
  tracking_updated_at timestamp with time zone,
  created_at timestamp with time zone not null,
  owed_cents bigint default 0 not null,
  cancel_at timestamp with time zone,
  constraint slices_pkey PRIMARY KEY (id),
  constraint slices_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint slices_checkout_id_fkey FOREIGN KEY (checkout_id) REFERENCES checkouts(id),
  constraint slices_fulfilment_check CHECK (fulfilment = ANY (ARRAY['platform'::text, 'self_ship'::text])),
  constraint slices_key UNIQUE (slice_key),
  constraint slices_one_per_seller UNIQUE (checkout_id, account_id),
  constraint slices_owed_cents_check CHECK (owed_cents >= 0),
  constraint slices_shipping_cents_check CHECK (shipping_cents >= 0)
);
CREATE INDEX slices_newest ON public.slices USING btree (account_id, created_at, id);
CREATE INDEX slices_owed ON public.slices USING btree (account_id, id) WHERE (owed_cents > 0);

create table staff (
  id bigint generated always as identity not null,
  name text not null,
  role text collate "C" not null,
  token_hash bytea not null,
  created_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  constraint staff_pkey PRIMARY KEY (id),
  constraint staff_role_check CHECK (role = ANY (ARRAY['admin'::text, 'support'::text, 'finance'::text, 'catalog'::text])),
  constraint staff_token_hash UNIQUE (token_hash),
  constraint staff_token_hash_check CHECK (length(token_hash) = 32)
);

create table tier_runs (
  month date not null,
  ran_at timestamp with time zone not null,
  constraint tier_runs_pkey PRIMARY KEY (month),
  constraint tier_runs_first_day CHECK (EXTRACT(day FROM month) = 1::numeric) NOT VALID
);

create table unfinished_audit_entries (
  id bigint generated always as identity not null,
  actor text collate "C" not null,
  actor_name text,
  role text collate "C" not null,
  action text collate "C" not null,
  record text collate "C",
  before jsonb,
  request_id text,
  created_at timestamp with time zone not null,
  begun_at timestamp with time zone default now() not null,
  constraint unfinished_audit_entries_pkey PRIMARY KEY (id)
);

create table webhook_endpoints (
  id bigint generated always as identity not null,
  account_id bigint not null,
  place smallint,
  url text not null,
  events text[] not null,
  secret bytea,
  consecutive_failures integer default 0 not null,
  disabled_at timestamp with time zone,
  deleted_at timestamp with time zone,
  created_at timestamp with time zone not null,
  failure_reason text,
  previous_secret bytea,
  previous_secret_until timestamp with time zone,
  secret_number integer default 1 not null,
  constraint webhook_endpoints_pkey PRIMARY KEY (id),
  constraint webhook_endpoints_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint webhook_endpoints_at_most_16 UNIQUE (account_id, place),
  constraint webhook_endpoints_consecutive_failures_check CHECK (consecutive_failures >= 0),
  constraint webhook_endpoints_deleted_whole CHECK ((deleted_at IS NULL) = (place IS NOT NULL) AND (deleted_at IS NULL) = (secret IS NOT NULL)),
  constraint webhook_endpoints_events_check CHECK (cardinality(events) > 0 AND events <@ ARRAY['order.created'::text, 'order.cancelled'::text, 'order.label_ready'::text, 'listing.sold'::text]),
  constraint webhook_endpoints_place_check CHECK (place >= 1 AND place <= 16),
  constraint webhook_endpoints_previous_whole CHECK ((previous_secret IS NULL) = (previous_secret_until IS NULL) AND (previous_secret IS NULL OR deleted_at IS NULL))
);

CREATE SEQUENCE delivery_claims;

CREATE VIEW counted_rows AS
 SELECT 'listings'::text COLLATE "C" AS subject,
    listings.account_id,
    count_block('listings'::text, listings.id, listings.created_at) AS block,
    (listings.status = 'active'::text)::integer AS n1,
    (listings.status = 'sold'::text)::integer AS n2,
    (listings.status = 'hidden'::text)::integer AS n3,
    (listings.status = 'removed'::text)::integer AS n4,
    0 AS n5
   FROM listings
UNION ALL
 SELECT 'orders'::text AS subject,
    orders.account_id,
    count_block('orders'::text, orders.id, orders.created_at) AS block,
    (orders.status = 'pending'::text)::integer AS n1,
    (orders.status = 'shipped'::text)::integer AS n2,
    (orders.status = 'received'::text)::integer AS n3,
    (orders.status = 'cancelled'::text)::integer AS n4,
    (orders.status = 'disputed'::text)::integer AS n5
   FROM orders
UNION ALL
 SELECT 'payouts'::text AS subject,
    payouts.account_id,
    count_block('payouts'::text, payouts.id, payouts.created_at) AS block,
    (payouts.state = 'due'::text)::integer AS n1,
    (payouts.state = 'sent'::text)::integer AS n2,
    (payouts.state = 'paid'::text)::integer AS n3,
    (payouts.state = 'failed'::text)::integer AS n4,
    0 AS n5
   FROM payouts
UNION ALL
 SELECT 'shipments'::text AS subject,
    s.account_id,
    0 AS block,
    1 AS n1,
    0 AS n2,
    0 AS n3,
    0 AS n4,
    0 AS n5
   FROM shipments sh
     JOIN slices s ON s.id = sh.slice_id
  WHERE sh.state = 'bought'::text OR sh.in_doubt;

CREATE OR REPLACE FUNCTION public.add_count_levels(of_subject text, accounts bigint[])
 RETURNS void
 LANGUAGE sql
AS $function$
  with large as (
    select account_id
    from unnest(accounts) as changed (account_id)
    where
      not exists (
        select
        from counts c
        where c.subject = of_subject and c.account_id = changed.account_id and c.level = 0
        -- Without OFFSET, the planner may read the counts of all sellers for a join.
        offset 0
      )
      and (
        select sum(n1 + n2 + n3 + n4 + n5)
        from counts c
        where c.subject = of_subject and c.account_id = changed.account_id and c.level = 3
      ) > 1000
  ),
  counted as (
    select account_id, block, n1, n2, n3, n4, n5
    from counted_rows
    where subject = of_subject and account_id = any(array(select account_id from large))
    union all
    select account_id, block, -n1, -n2, -n3, -n4, -n5
    from count_deltas
    where subject = of_subject and account_id = any(array(select account_id from large))
  )
  insert into counts
  select
    of_subject, account_id, level, block >> (4 * level), sum(n1), sum(n2), sum(n3), sum(n4), sum(n5)
  from counted
  cross join generate_series(0, 2) as level
  group by account_id, level, block >> (4 * level)
  order by 2, 3, 4;
$function$;

CREATE OR REPLACE FUNCTION public.add_partition(parent text, first_id bigint, end_id bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  name text := format('%s_from_%s', parent, first_id);
begin
  execute format(
    'create table %I partition of %I for values from (%s) to (%s) %s',
    name,
    parent,
    first_id,
    coalesce(end_id::text, 'maxvalue'),
    -- Room on each page for all of its rows with an attempt, which makes a row more than twice as long.
    case parent when 'deliveries' then 'with (fillfactor = 28)' end
  );
  if parent = 'deliveries' then
    -- One delivery of an event per endpoint. A partition begins while nothing is written, so it has all deliveries of an
    -- event.
    execute format('create unique index %I on %I (event_id, endpoint_id)', name || '_once', name);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION public.blank_erased_mail()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION public.check_deductions()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (
    select
    from (select posting_id, sum(amount_cents) as cents from added group by posting_id) parts
    join postings p on p.id = parts.posting_id
    where p.kind <> 'recovery' or p.seller_cents <> parts.cents
  ) then
    raise exception 'The deductions of a recovery must add up to it.' using errcode = '23514';
  end if;
  if exists (
    select
    from (select distinct payout_id as id from added) changed
    join payouts p using (id)
    where p.deducted_cents < (select sum(amount_cents) from payout_deductions where payout_id = p.id)
  ) then
    raise exception 'The deductions of a payout must not exceed its deducted amount.'
      using errcode = '23514';
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.clear_counts()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  delete from counts where subject = tg_argv[0];
  delete from count_deltas where subject = tg_argv[0];
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.count_before(of_subject text, seller bigint, wanted integer[], key_block bigint)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  last_seller bigint := case seller when 0 then 9223372036854775807 else seller end;
begin
  if not exists (
    select from counts where subject = of_subject and account_id = seller and level = 0
  ) then
    return null;
  end if;
  return (
    select
      coalesce(
        sum(
          n1 * wanted[1] + n2 * wanted[2] + n3 * wanted[3] + n4 * wanted[4]
          + n5 * coalesce(wanted[5], 0)
        ),
        0
      )
    from (
      -- The blocks of each level that the level above doesn't cover. OFFSET makes PostgreSQL look for each level's blocks
      -- alone: in a market of many sellers it expects few counts of each, and would read all of the seller's for a join.
      select n1, n2, n3, n4, n5
      from generate_series(0, 3) as depth
      cross join lateral (
        select n1, n2, n3, n4, n5
        from counts
        where
          subject = of_subject
          and account_id = seller
          and level = depth
          and block >= case depth when 3 then 0 else key_block >> (4 * depth + 4) << 4 end
          and block < key_block >> (4 * depth)
        offset 0
      ) of_level
      union all
      select n1, n2, n3, n4, n5
      from count_deltas
      where
        subject = of_subject
        and account_id between seller and last_seller
        and block < key_block
    ) counted
  );
end
$function$;

CREATE OR REPLACE FUNCTION public.count_block(subject text, id bigint, created_at timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select case subject when 'orders' then floor(extract(epoch from created_at))::bigint else id end >> 8
$function$;

CREATE OR REPLACE FUNCTION public.first_delivery_since(moment timestamp with time zone)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  first bigint;
  last bigint;
  middle_id bigint;
  middle_at timestamptz;
begin
  select coalesce(min(id), 0), coalesce(max(id) + 1, 0) into first, last from deliveries;
  while first < last loop
    select id, created_at
    into middle_id, middle_at
    from deliveries
    where id >= (first + last) / 2
    order by id
    limit 1;
    if middle_at < moment then
      first := middle_id + 1;
    else
      last := (first + last) / 2;
    end if;
  end loop;
  return first;
end
$function$;

CREATE OR REPLACE FUNCTION public.forget_offers()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into offer_changes (listing_ids) values (null);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.name_search(text text)
 RETURNS tsquery
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (SELECT (string_agg((quote_literal(word.word) || ':*'::text), ' & '::text))::tsquery AS string_agg FROM unnest(tsvector_to_array(name_words(name_search.text))) word(word));

CREATE OR REPLACE FUNCTION public.name_words(name text)
 RETURNS tsvector
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN array_to_tsvector(array_remove(regexp_split_to_array(regexp_replace(NORMALIZE(lower(name), NFKD), '[\u0300-\u036f]'::text, ''::text, 'g'::text), '[[:space:][:punct:]]+'::text), ''::text));

CREATE OR REPLACE FUNCTION public.page_of_counts(of_subject text, seller bigint, wanted integer[], skipped bigint, OUT total bigint, OUT until bigint, OUT skipped_there bigint)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  -- The list of all sellers adds the deltas of each of them.
  last_seller bigint := case seller when 0 then 9223372036854775807 else seller end;
  w1 integer := wanted[1];
  w2 integer := wanted[2];
  w3 integer := wanted[3];
  w4 integer := wanted[4];
  w5 integer := coalesce(wanted[5], 0);
  kept bigint;
  -- Usually null: the job adds deltas to the counts every few seconds.
  delta_blocks bigint[];
  deltas bigint[];
  found bigint;
  number bigint;
  first bigint := 0;
  last bigint := 9223372036854775807;
  before bigint := 0;
begin
  select
    array_agg(block),
    array_agg(delta),
    coalesce(sum(delta), 0),
    (
      select coalesce(sum(n1 * w1 + n2 * w2 + n3 * w3 + n4 * w4 + n5 * w5), 0)
      from counts
      where subject = of_subject and account_id = seller and level = 3
    )
  into delta_blocks, deltas, total, kept
  from (
    select block, sum(n1 * w1 + n2 * w2 + n3 * w3 + n4 * w4 + n5 * w5)::bigint as delta
    from count_deltas
    where subject = of_subject and account_id between seller and last_seller
    group by block
  ) of_block;
  total := total + kept;

  skipped_there := skipped;
  if skipped >= total then
    -- No key is below it.
    until := 0;
    return;
  end if;
  -- A seller with more than 1,000 rows has all levels.
  if skipped < 500 or kept <= 1000 then
    return;
  end if;

  -- `before` is the number of rows in newer blocks than the one in which the page begins.
  for depth in reverse 3..0 loop
    if deltas is null then
      for found, number in
        select block, n1 * w1 + n2 * w2 + n3 * w3 + n4 * w4 + n5 * w5
        from counts
        where
          subject = of_subject
          and account_id = seller
          and level = depth
          and block between first and last
        order by block desc
      loop
        exit when before + number > skipped;
        before := before + number;
      end loop;
    else
      for found, number in
        select block, sum(counted)
        from (
          select block, n1 * w1 + n2 * w2 + n3 * w3 + n4 * w4 + n5 * w5 as counted
          from counts
          where
            subject = of_subject
            and account_id = seller
            and level = depth
            and block between first and last
          union all
          select key_block >> (4 * depth), delta
          from unnest(delta_blocks, deltas) as of_block (key_block, delta)
          where key_block >> (4 * depth) between first and last
        ) both_kinds
        group by block
        order by block desc
      loop
        exit when before + number > skipped;
        before := before + number;
      end loop;
    end if;
    first := found << 4;
    last := first + 15;
  end loop;
  until := (found + 1) << 8;
  skipped_there := skipped - before;
end
$function$;

CREATE OR REPLACE FUNCTION public.recount(of_subject text)
 RETURNS void
 LANGUAGE sql
AS $function$
  delete from counts where subject = of_subject;

  with replaced as (
    delete from count_deltas where subject = of_subject
  ),
  blocks as (
    select
      account_id, block, sum(n1) as n1, sum(n2) as n2, sum(n3) as n3, sum(n4) as n4, sum(n5) as n5
    from counted_rows
    where subject = of_subject
    group by account_id, block
  )
  insert into counts
  select
    of_subject, account_id, level, block >> (4 * level), sum(n1), sum(n2), sum(n3), sum(n4), sum(n5)
  from (
    select account_id, 3 as level, block, n1, n2, n3, n4, n5 from blocks
    union all
    select 0, level, block, n1, n2, n3, n4, n5 from blocks cross join generate_series(0, 3) as level
  ) counted
  group by account_id, level, block >> (4 * level)
  order by 2, 3, 4;

  select add_count_levels(
    of_subject,
    array(select distinct account_id from counts where subject = of_subject and account_id <> 0)
  );
$function$;

CREATE OR REPLACE FUNCTION public.refuse_audit_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'DELETE' and current_setting('cardstall.prunes_audit_entries', true) = 'on' then
    return null;
  end if;
  raise exception 'Rows of % never change.', tg_table_name;
end
$function$;

CREATE OR REPLACE FUNCTION public.refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'Rows of % never change: a correction is a new row.', tg_table_name;
end
$function$;

CREATE OR REPLACE FUNCTION public.write_changed_offer()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into offer_changes (listing_ids) values (array[new.id]);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.write_changed_reservation()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into offer_changes (listing_ids) values (array[coalesce(new.listing_id, old.listing_id)]);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.write_changed_shop()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into offer_changes (account_ids) values (array[new.id]);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.write_changes()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_table_name = 'listings' then
    insert into changes (account_id, kind, record_id, change)
    select
      c.account_id, 'listing', c.id,
      case
        when tg_op = 'DELETE' or c.status = 'removed' then 'deleted'
        when tg_op = 'INSERT' then 'created'
        else 'updated'
      end
    from changed c
    where c.account_id in (select account_id from change_followers)
    order by c.id;
  else
    insert into changes (account_id, kind, record_id, change)
    select
      c.account_id, 'order', c.id, case when tg_op = 'INSERT' then 'created' else 'updated' end
    from changed c
    where c.account_id in (select account_id from change_followers)
    order by c.id;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.write_delta_of_changed_row()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into count_deltas
  values (
    tg_argv[0],
    new.account_id,
    count_block(tg_argv[0], new.id, new.created_at),
    (new.status = tg_argv[1])::int - (old.status = tg_argv[1])::int,
    (new.status = tg_argv[2])::int - (old.status = tg_argv[2])::int,
    (new.status = tg_argv[3])::int - (old.status = tg_argv[3])::int,
    (new.status = tg_argv[4])::int - (old.status = tg_argv[4])::int,
    coalesce((new.status = tg_argv[5])::int - (old.status = tg_argv[5])::int, 0)
  );
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.write_delta_of_deleted_row()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into count_deltas
  values (
    tg_argv[0],
    old.account_id,
    count_block(tg_argv[0], old.id, old.created_at),
    -(old.status = tg_argv[1])::int,
    -(old.status = tg_argv[2])::int,
    -(old.status = tg_argv[3])::int,
    -(old.status = tg_argv[4])::int,
    coalesce(-(old.status = tg_argv[5])::int, 0)
  );
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.write_deltas_of_new_rows()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into count_deltas
  select
    tg_argv[0],
    account_id,
    count_block(tg_argv[0], id, created_at),
    count(*) filter (where status = tg_argv[1]),
    count(*) filter (where status = tg_argv[2]),
    count(*) filter (where status = tg_argv[3]),
    count(*) filter (where status = tg_argv[4]),
    count(*) filter (where status = tg_argv[5])
  from added
  group by 2, 3;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.write_new_offers()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into offer_changes (listing_ids)
  select case when count(*) <= 1000 then array_agg(id) end from added where status = 'active'
  having count(*) > 0;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.write_payout_delta()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into count_deltas
  values (
    'payouts',
    coalesce(new.account_id, old.account_id),
    count_block('payouts', coalesce(new.id, old.id), null),
    coalesce((new.state = 'due')::int, 0) - coalesce((old.state = 'due')::int, 0),
    coalesce((new.state = 'sent')::int, 0) - coalesce((old.state = 'sent')::int, 0),
    coalesce((new.state = 'paid')::int, 0) - coalesce((old.state = 'paid')::int, 0),
    coalesce((new.state = 'failed')::int, 0) - coalesce((old.state = 'failed')::int, 0),
    0
  );
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.write_shipment_delta()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  change integer :=
    coalesce((new.state = 'bought' or new.in_doubt)::int, 0)
    - coalesce((old.state = 'bought' or old.in_doubt)::int, 0);
begin
  insert into count_deltas
  select
    'shipments',
    account_id,
    0,
    change,
    0,
    0,
    0,
    0
  from slices
  where id = coalesce(new.slice_id, old.slice_id) and change <> 0;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.xid_in_epoch(xid xid8)
 RETURNS xid8
 LANGUAGE sql
 STABLE
RETURN (((((SELECT server_epoch.epoch FROM server_epoch) * '1099511627776'::bigint) + ((xid)::text)::bigint))::text)::xid8;
