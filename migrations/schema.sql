-- Made from the migrations by docs/generate.ts: the schema they add up to, for readers.
-- Partitions are left out; the service makes them by the month.

create table accounts (
  account_id uuid not null,
  name text not null,
  default_sender text,
  balance bigint not null default 0,
  ledger_seq bigint not null default 0,
  send_tokens double precision,
  send_tokens_at timestamp with time zone,
  low_credits bigint not null default 100,
  version integer not null default 1,
  created_at timestamp with time zone not null,
  constraint accounts_pkey PRIMARY KEY (account_id),
  constraint balance_is_never_negative CHECK ((balance >= 0))
) with (fillfactor=50);

create table audit_log (
  audit_id uuid not null,
  at timestamp with time zone not null,
  account_id uuid,
  actor text not null,
  action text not null,
  object_id text,
  details jsonb not null default '{}'::jsonb,
  address text,
  request_id text,
  constraint audit_log_pkey PRIMARY KEY (audit_id)
);
CREATE INDEX audit_log_of_account ON public.audit_log USING btree (account_id, audit_id);
CREATE INDEX audit_log_of_action ON public.audit_log USING btree (action, audit_id);
CREATE INDEX audit_log_of_actor ON public.audit_log USING btree (actor, audit_id);
CREATE INDEX audit_log_of_object ON public.audit_log USING btree (object_id, audit_id);

create table bind_leases (
  carrier_id uuid not null,
  slot smallint not null,
  node_id uuid not null,
  leased_until timestamp with time zone not null,
  constraint bind_leases_pkey PRIMARY KEY (carrier_id, slot)
);

create table bookings (
  account_id uuid not null,
  reference text not null,
  seq bigint not null,
  constraint bookings_pkey PRIMARY KEY (account_id, reference),
  constraint bookings_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(account_id)
);

create table carrier_states (
  carrier_id uuid not null,
  node_id uuid not null,
  state jsonb not null,
  at timestamp with time zone not null,
  constraint carrier_states_pkey PRIMARY KEY (carrier_id, node_id)
);

create table carriers (
  carrier_id uuid not null,
  name text not null,
  kind text not null,
  settings jsonb not null default '{}'::jsonb,
  password bytea,
  paused boolean not null default false,
  removed_at timestamp with time zone,
  version integer not null default 1,
  created_at timestamp with time zone not null,
  constraint carriers_pkey PRIMARY KEY (carrier_id),
  constraint carrier_kind_is_known CHECK ((kind = ANY (ARRAY['simulator'::text, 'smpp'::text]))),
  constraint carrier_name_has_1_to_60_characters CHECK (((char_length(name) >= 1) AND (char_length(name) <= 60)))
);
CREATE UNIQUE INDEX carrier_name_is_unique ON public.carriers USING btree (name) WHERE (removed_at IS NULL);

create table events (
  message_id uuid not null,
  sequence smallint not null,
  account_id uuid not null,
  status text not null,
  at timestamp with time zone not null,
  callback_url text,
  body bytea,
  constraint events_pkey PRIMARY KEY (message_id, sequence),
  constraint body_and_address_go_together CHECK (((body IS NULL) = (callback_url IS NULL)))
) partition by RANGE (message_id);

create table followed_events (
  "position" bigint not null generated always as identity,
  xid xid8 not null default pg_current_xact_id(),
  account_id uuid not null,
  message_id uuid not null,
  sequence smallint not null,
  at timestamp with time zone not null default clock_timestamp(),
  constraint followed_events_pkey PRIMARY KEY ("position")
);
CREATE INDEX followed_events_by_transaction ON public.followed_events USING btree (xid);

create table followers (
  account_id uuid not null,
  until timestamp with time zone not null,
  constraint followers_pkey PRIMARY KEY (account_id)
);

create table form_keys (
  user_id uuid not null,
  key text not null,
  operation text not null,
  created_at timestamp with time zone not null,
  constraint form_keys_pkey PRIMARY KEY (user_id, key)
);
CREATE INDEX form_keys_by_age ON public.form_keys USING btree (created_at);

create table idempotency (
  account_id uuid not null,
  key text not null,
  fingerprint bytea not null,
  message_ids uuid[] not null,
  created_at timestamp with time zone not null,
  constraint idempotency_pkey PRIMARY KEY (account_id, key)
);
CREATE INDEX idempotency_by_age ON public.idempotency USING btree (created_at);

create table installation (
  only_row boolean not null default true,
  completed_at timestamp with time zone not null,
  constraint installation_pkey PRIMARY KEY (only_row),
  constraint installation_only_row_check CHECK (only_row)
);

create table key_proof (
  is_only boolean not null default true,
  sealed bytea not null,
  constraint key_proof_pkey PRIMARY KEY (is_only),
  constraint key_proof_is_only_check CHECK (is_only)
);

create table key_usage (
  key_id uuid not null,
  last_used_at timestamp with time zone not null,
  constraint key_usage_pkey PRIMARY KEY (key_id),
  constraint key_usage_key_id_fkey FOREIGN KEY (key_id) REFERENCES keys(key_id)
);

create table keys (
  key_id uuid not null,
  account_id uuid not null,
  name text not null,
  hash bytea not null,
  prefix text not null,
  scopes text[] not null,
  created_at timestamp with time zone not null,
  created_by text not null,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  revoked_seq bigint,
  constraint keys_pkey PRIMARY KEY (key_id),
  constraint keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(account_id),
  constraint key_has_known_scopes CHECK (((cardinality(scopes) > 0) AND (scopes <@ ARRAY['messages:send'::text, 'messages:read'::text]))),
  constraint key_name_has_1_to_60_characters CHECK (((char_length(name) >= 1) AND (char_length(name) <= 60)))
);
CREATE UNIQUE INDEX key_hash_is_unique ON public.keys USING btree (hash);
CREATE INDEX keys_of_account ON public.keys USING btree (account_id, key_id);

create table ledger (
  account_id uuid not null,
  seq bigint not null,
  message_id uuid,
  kind text not null,
  amount bigint not null,
  balance_after bigint not null,
  actor text,
  note text,
  created_at timestamp with time zone not null,
  constraint ledger_pkey PRIMARY KEY (account_id, seq),
  constraint charges_and_refunds_name_a_message CHECK (((kind = ANY (ARRAY['charge'::text, 'refund'::text])) = (message_id IS NOT NULL))),
  constraint ledger_kind_is_known CHECK ((kind = ANY (ARRAY['charge'::text, 'refund'::text, 'topup'::text, 'adjustment'::text]))),
  constraint ledger_never_goes_below_zero CHECK ((balance_after >= 0)),
  constraint signs_fit_the_kind CHECK (
CASE kind
    WHEN 'charge'::text THEN (amount <= 0)
    WHEN 'adjustment'::text THEN true
    ELSE (amount >= 0)
END),
  constraint topups_and_adjustments_name_an_actor CHECK (((kind = ANY (ARRAY['topup'::text, 'adjustment'::text])) = (actor IS NOT NULL)))
);
CREATE INDEX ledger_booked_by_people ON public.ledger USING btree (account_id, seq) WHERE (kind = ANY (ARRAY['topup'::text, 'adjustment'::text]));
CREATE UNIQUE INDEX ledger_once_per_message ON public.ledger USING btree (message_id, kind) WHERE (message_id IS NOT NULL);

create table links (
  link_id uuid not null,
  kind text not null,
  token_hash bytea not null,
  created_at timestamp with time zone not null,
  created_by text not null,
  expires_at timestamp with time zone not null,
  account_id uuid,
  role text,
  for_whom text,
  user_id uuid,
  drops_second_factor boolean not null default false,
  used_at timestamp with time zone,
  withdrawn_at timestamp with time zone,
  constraint links_pkey PRIMARY KEY (link_id),
  constraint links_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(account_id),
  constraint links_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id),
  constraint invitations_name_account_and_role CHECK (((kind = 'invitation'::text) = ((account_id IS NOT NULL) AND (role IS NOT NULL)))),
  constraint link_kind_is_known CHECK ((kind = ANY (ARRAY['setup'::text, 'invitation'::text, 'reset'::text]))),
  constraint only_invitations_are_for_whom CHECK (((kind = 'invitation'::text) OR (for_whom IS NULL))),
  constraint only_resets_drop_a_second_factor CHECK (((kind = 'reset'::text) OR (NOT drops_second_factor))),
  constraint resets_name_a_user CHECK (((kind = 'reset'::text) = (user_id IS NOT NULL)))
);
CREATE UNIQUE INDEX link_token_is_unique ON public.links USING btree (token_hash);
CREATE INDEX links_of_account ON public.links USING btree (account_id) WHERE (account_id IS NOT NULL);

create table memberships (
  account_id uuid not null,
  user_id uuid not null,
  role text not null,
  version integer not null default 1,
  joined_at timestamp with time zone not null,
  constraint memberships_pkey PRIMARY KEY (account_id, user_id),
  constraint memberships_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(account_id),
  constraint memberships_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id),
  constraint role_is_known CHECK ((role = ANY (ARRAY['viewer'::text, 'developer'::text, 'owner'::text])))
);
CREATE INDEX memberships_of_user ON public.memberships USING btree (user_id);

create table messages (
  account_id uuid not null,
  message_id uuid not null,
  key_id uuid,
  recipient text not null,
  sender text,
  text text not null,
  encoding text not null,
  segments smallint not null,
  credits bigint not null,
  status text not null,
  sequence smallint not null default 1,
  reference text,
  metadata text,
  callback_url text,
  concat_reference smallint not null default 0,
  carrier_id uuid,
  error_code text,
  error_carrier_code text,
  created_at timestamp with time zone not null,
  send_at timestamp with time zone,
  expires_at timestamp with time zone not null,
  sent_at timestamp with time zone,
  final_at timestamp with time zone,
  constraint messages_pkey PRIMARY KEY (account_id, message_id)
) partition by RANGE (message_id);
CREATE INDEX messages_by_recipient ON public.messages USING btree (account_id, recipient, message_id) WHERE (recipient IS NOT NULL);
CREATE INDEX messages_by_reference ON public.messages USING btree (account_id, reference, message_id) WHERE (reference IS NOT NULL);

create table migrations (
  name text not null,
  applied_at timestamp with time zone not null default now(),
  constraint migrations_pkey PRIMARY KEY (name)
);

create table nodes (
  node_id uuid not null,
  roles text[] not null,
  host text not null,
  pid integer not null,
  version text not null,
  started_at timestamp with time zone not null,
  heard_at timestamp with time zone not null,
  constraint nodes_pkey PRIMARY KEY (node_id)
);

create table parked_receipts (
  parked_id uuid not null,
  carrier_id uuid not null,
  match_ids text[] not null,
  receipt jsonb not null,
  raw bytea,
  at timestamp with time zone not null,
  parked_at timestamp with time zone not null default clock_timestamp(),
  since timestamp with time zone not null default '-infinity'::timestamp with time zone,
  recipient_end text,
  constraint parked_receipts_pkey PRIMARY KEY (parked_id)
);
CREATE INDEX parked_receipts_by_match_id ON public.parked_receipts USING gin (match_ids) WITH (fastupdate=off);

create table prices (
  prefix text not null,
  credits bigint not null,
  constraint prices_pkey PRIMARY KEY (prefix),
  constraint price_is_0_to_a_million CHECK (((credits >= 0) AND (credits <= 1000000))),
  constraint price_prefix_is_digits CHECK ((prefix ~ '^[0-9]{0,15}$'::text))
);

create unlogged table read_allowances (
  key_id uuid not null,
  tokens double precision not null,
  tokens_at timestamp with time zone not null,
  asked integer not null,
  granted integer not null,
  constraint read_allowances_pkey PRIMARY KEY (key_id)
) with (fillfactor=50);

create table recovery_codes (
  user_id uuid not null,
  hash bytea not null,
  used_at timestamp with time zone,
  constraint recovery_codes_pkey PRIMARY KEY (user_id, hash),
  constraint recovery_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id)
);

create table redaction (
  only_row boolean not null default true,
  done_until timestamp with time zone not null,
  until timestamp with time zone,
  account_id uuid not null,
  message_id uuid not null,
  constraint redaction_pkey PRIMARY KEY (only_row),
  constraint redaction_only_row_check CHECK (only_row)
);

create table redactions_due (
  look_at timestamp with time zone not null,
  account_id uuid not null,
  message_id uuid not null,
  constraint redactions_due_pkey PRIMARY KEY (look_at, message_id)
);

create table routes (
  prefix text not null,
  carrier_ids uuid[] not null,
  constraint routes_pkey PRIMARY KEY (prefix),
  constraint route_has_a_carrier CHECK ((cardinality(carrier_ids) > 0)),
  constraint route_prefix_is_digits CHECK ((prefix ~ '^[0-9]{0,15}$'::text))
);

create table routing_version (
  only_row boolean not null default true,
  version bigint not null,
  constraint routing_version_pkey PRIMARY KEY (only_row),
  constraint routing_version_only_row_check CHECK (only_row)
);

create table send_queue (
  message_id uuid not null,
  account_id uuid not null,
  carrier_id uuid not null,
  due_at timestamp with time zone not null,
  placed_at timestamp with time zone not null default clock_timestamp(),
  expires_at timestamp with time zone not null,
  leased_by uuid,
  lease_epoch integer not null default 0,
  attempt smallint not null default 0,
  constraint send_queue_pkey PRIMARY KEY (message_id)
) with (fillfactor=70, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000);
CREATE INDEX send_queue_by_expiry ON public.send_queue USING btree (expires_at);
CREATE INDEX send_queue_in_turn ON public.send_queue USING btree (carrier_id, account_id, due_at, message_id) WHERE (carrier_id IS NOT NULL);

create table sessions (
  session_id uuid not null,
  token_hash bytea not null,
  user_id uuid not null,
  is_pending boolean not null,
  created_at timestamp with time zone not null,
  seen_at timestamp with time zone not null,
  proven_at timestamp with time zone not null,
  address text,
  user_agent text,
  constraint sessions_pkey PRIMARY KEY (session_id),
  constraint sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id)
);
CREATE UNIQUE INDEX session_token_is_unique ON public.sessions USING btree (token_hash);
CREATE INDEX sessions_of_user ON public.sessions USING btree (user_id);

create unlogged table sign_in_tries (
  subject text not null,
  tries double precision not null,
  at timestamp with time zone not null,
  blocked_until timestamp with time zone not null,
  constraint sign_in_tries_pkey PRIMARY KEY (subject)
);

create table signing_secrets (
  account_id uuid not null,
  version integer not null,
  sealed bytea not null,
  created_at timestamp with time zone not null,
  not_after timestamp with time zone,
  constraint signing_secrets_pkey PRIMARY KEY (account_id, version),
  constraint signing_secrets_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(account_id)
);
CREATE UNIQUE INDEX one_secret_signs ON public.signing_secrets USING btree (account_id) WHERE (not_after IS NULL);

create table stat_changes (
  change_id bigint not null generated always as identity,
  account_id uuid not null,
  changes stat_change[] not null,
  constraint stat_changes_pkey PRIMARY KEY (change_id)
) with (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000);

create table stat_errors (
  account_id uuid not null,
  width smallint not null,
  start timestamp with time zone not null,
  code text not null,
  count bigint not null,
  constraint stat_errors_pkey PRIMARY KEY (account_id, width, start, code)
) with (fillfactor=70);
CREATE INDEX stat_errors_of_minutes ON public.stat_errors USING btree (start) WHERE (width = 1);

create table stat_latencies (
  account_id uuid not null,
  width smallint not null,
  start timestamp with time zone not null,
  class smallint not null,
  count bigint not null,
  constraint stat_latencies_pkey PRIMARY KEY (account_id, width, start, class) INCLUDE (count)
) with (fillfactor=70);
CREATE INDEX stat_latencies_of_minutes ON public.stat_latencies USING btree (start) WHERE (width = 1);

create table stat_spans (
  account_id uuid not null,
  width smallint not null,
  start timestamp with time zone not null,
  queued bigint not null,
  sent bigint not null,
  delivered bigint not null,
  undelivered bigint not null,
  failed bigint not null,
  charged bigint not null,
  refunded bigint not null,
  webhooks_delivered bigint not null,
  webhooks_exhausted bigint not null,
  webhooks_failed bigint not null,
  constraint stat_spans_pkey PRIMARY KEY (account_id, width, start)
) with (fillfactor=70);
CREATE INDEX stat_spans_of_minutes ON public.stat_spans USING btree (start) WHERE (width = 1);

create table submissions (
  message_id uuid not null,
  segment smallint not null,
  turn integer not null,
  is_whole boolean not null default false,
  account_id uuid not null,
  carrier_id uuid not null,
  at timestamp with time zone not null,
  outcome text,
  answered_at timestamp with time zone,
  carrier_message_id text,
  match_id text,
  carrier_code text,
  error_code text,
  in_doubt_at timestamp with time zone,
  doubt_reason text,
  doubt_action text,
  receipt_effect text,
  receipts jsonb,
  constraint submissions_pkey PRIMARY KEY (message_id, segment, turn),
  constraint either_answered_or_in_doubt CHECK (((outcome IS NOT NULL) OR (in_doubt_at IS NOT NULL))),
  constraint outcome_is_known CHECK ((outcome = ANY (ARRAY['accepted'::text, 'refused_temporarily'::text, 'refused'::text, 'unsent'::text])))
) partition by RANGE (message_id);
CREATE INDEX submissions_by_match_id ON public.submissions USING btree (carrier_id, match_id, at) WHERE (match_id IS NOT NULL);

create table tried_webhooks (
  account_id uuid not null,
  constraint tried_webhooks_pkey PRIMARY KEY (account_id)
);

create table users (
  user_id uuid not null,
  email text not null,
  name text not null,
  password text not null,
  is_operator boolean not null default false,
  totp bytea,
  totp_pending bytea,
  totp_step bigint not null default 0,
  preferences jsonb not null default '{}'::jsonb,
  version integer not null default 1,
  created_at timestamp with time zone not null,
  last_seen_at timestamp with time zone,
  constraint users_pkey PRIMARY KEY (user_id)
);
CREATE UNIQUE INDEX user_email_is_unique ON public.users USING btree (email);

create unlogged table watched_accounts (
  account_id uuid not null,
  since timestamp with time zone not null,
  until timestamp with time zone not null,
  constraint watched_accounts_pkey PRIMARY KEY (account_id)
);

create unlogged table watched_changes (
  xid xid8 not null default pg_current_xact_id(),
  at timestamp with time zone not null default clock_timestamp(),
  account_id uuid not null,
  kind text not null,
  ids text[] not null default '{}'::text[],
  versions smallint[] not null default '{}'::smallint[],
  is_charged boolean not null default false
);
CREATE INDEX watched_changes_by_age ON public.watched_changes USING btree (at);
CREATE INDEX watched_changes_by_transaction ON public.watched_changes USING btree (xid);

create table webhook_attempts (
  account_id uuid not null,
  message_id uuid not null,
  sequence smallint not null,
  attempt smallint not null,
  at timestamp with time zone not null,
  replay_id uuid,
  step smallint not null,
  http_status smallint,
  error_class text,
  error text,
  dns_ms real,
  connect_ms real,
  tls_ms real,
  first_byte_ms real,
  total_ms real not null,
  address text,
  answer_headers json,
  answer bytea,
  ended text,
  constraint webhook_attempts_pkey PRIMARY KEY (account_id, message_id, sequence, attempt, at),
  constraint ended_is_known CHECK ((ended = ANY (ARRAY['delivered'::text, 'exhausted'::text, 'gone'::text, 'forbidden'::text])))
) partition by RANGE (at);
CREATE INDEX webhook_attempts_replayed ON public.webhook_attempts USING btree (replay_id) WHERE (replay_id IS NOT NULL);
CREATE INDEX webhook_attempts_undelivered ON public.webhook_attempts USING btree (account_id, message_id, sequence) WHERE (ended = ANY (ARRAY['exhausted'::text, 'gone'::text, 'forbidden'::text]));

create table webhook_deliveries (
  message_id uuid not null,
  sequence smallint not null,
  account_id uuid not null,
  host_key bigint not null,
  replay_id uuid,
  attempts smallint not null default 0,
  step smallint not null default 0,
  interrupted smallint not null default 0,
  created_at timestamp with time zone not null,
  next_at timestamp with time zone not null,
  leased_until timestamp with time zone,
  lease_epoch integer not null default 0,
  is_first boolean not null generated always as ((attempts = 0)) stored,
  constraint webhook_deliveries_pkey PRIMARY KEY (message_id, sequence)
) with (fillfactor=80, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000);
CREATE UNIQUE INDEX one_delivery_in_flight_per_message ON public.webhook_deliveries USING btree (message_id) WHERE (leased_until IS NOT NULL);
CREATE INDEX webhook_deliveries_in_turn ON public.webhook_deliveries USING btree (host_key, is_first, next_at);
CREATE INDEX webhook_deliveries_replayed ON public.webhook_deliveries USING btree (replay_id) WHERE (replay_id IS NOT NULL);
CREATE INDEX webhook_deliveries_replayed_in_lane ON public.webhook_deliveries USING btree (host_key, replay_id) WHERE (replay_id IS NOT NULL);

create table webhook_host_hours (
  account_id uuid not null,
  host_key bigint not null,
  hour timestamp with time zone not null,
  ok bigint not null,
  failed bigint not null,
  constraint webhook_host_hours_pkey PRIMARY KEY (account_id, host_key, hour)
);

create table webhook_hosts (
  account_id uuid not null,
  host_key bigint not null,
  origin text not null,
  health text not null,
  since timestamp with time zone not null,
  p95_ms real,
  last_at timestamp with time zone not null,
  last_ok_at timestamp with time zone,
  constraint webhook_hosts_pkey PRIMARY KEY (account_id, host_key)
);

create table webhook_replays (
  replay_id uuid not null,
  account_id uuid not null,
  actor text not null,
  idempotency_key text,
  fingerprint bytea not null,
  created_at timestamp with time zone not null,
  total integer not null,
  queued integer not null default 0,
  since timestamp with time zone,
  after_message uuid,
  after_sequence smallint,
  finished_at timestamp with time zone,
  canceled_at timestamp with time zone,
  constraint webhook_replays_pkey PRIMARY KEY (replay_id)
);
CREATE UNIQUE INDEX replay_key_is_used_once ON public.webhook_replays USING btree (account_id, idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX webhook_replays_unfinished ON public.webhook_replays USING btree (replay_id) WHERE (finished_at IS NULL);

create unlogged table webhook_test_allowances (
  account_id uuid not null,
  tokens double precision not null,
  at timestamp with time zone not null,
  constraint webhook_test_allowances_pkey PRIMARY KEY (account_id)
);

CREATE OR REPLACE FUNCTION public.accept_messages(node uuid, lease interval, send_rate double precision, send_burst double precision, g_account uuid[], g_key uuid[], g_session uuid[], g_routing bigint[], g_idempotency_key text[], g_fingerprint bytea[], g_first integer[], g_count integer[], g_credits bigint[], m_group integer[], m_place integer[], m_total bigint[], m_id uuid[], m_recipient text[], m_sender text[], m_text text[], m_encoding text[], m_segments smallint[], m_credits bigint[], m_reference text[], m_metadata text[], m_callback_url text[], m_concat_reference smallint[], m_carrier uuid[], m_created_at timestamp with time zone[], m_send_at timestamp with time zone[], m_expires_at timestamp with time zone[], m_leased boolean[])
 RETURNS TABLE(n integer, outcome text, available bigint, tokens double precision, message_ids uuid[], default_sender text)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET jit TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
declare
  moment          timestamptz;
  current_routing bigint;
  is_watched      boolean;
  r               record;
  -- The current account, after the groups that were judged so far.
  account         uuid;
  purse           bigint;
  bucket          double precision;
  entries         bigint;
  -- For each accepted group: the ledger before it, and the account's default sender.
  g_accepted      boolean[] := array_fill(false, array[cardinality(g_account)]);
  g_entries       bigint[]  := array_fill(0::bigint, array[cardinality(g_account)]);
  g_purse         bigint[]  := array_fill(0::bigint, array[cardinality(g_account)]);
  g_sender        text[]    := array_fill(null::text, array[cardinality(g_account)]);
  -- For each first group: whether it, or a repetition of its key, was accepted.
  g_taken         boolean[] := array_fill(false, array[cardinality(g_account)]);
  -- For each charged account: what it is left with.
  charged         integer := 0;
  c_account       uuid[] := '{}';
  c_purse         bigint[] := '{}';
  c_bucket        double precision[] := '{}';
  c_entries       bigint[] := '{}';
begin
  perform from accounts a where a.account_id = any (g_account) order by a.account_id for no key update;
  -- Read after the locks were granted, so that moments follow the order of the locks: time spent waiting never fills an
  -- allowance twice, and a key that expired meanwhile is seen.
  moment := clock_timestamp();

  select v.version, exists (select from watched_accounts w where w.until > moment)
    into current_routing, is_watched
    from routing_version v;

  for r in
    select g.n::integer as n, g.account_id, g.key_id, g.first, g.count, g.credits,
           k.key_id is null or k.revoked_at is not null as is_revoked,
           k.expires_at <= moment as is_expired, g.routing <> current_routing as is_stale,
           i.fingerprint = g.fingerprint as is_repeated, i.message_ids,
           a.balance, a.ledger_seq, a.default_sender, a.send_tokens_at > moment as is_ahead,
           least(send_burst, coalesce(
             a.send_tokens + send_rate * greatest(0, extract(epoch from moment - a.send_tokens_at)), send_burst
           )) as tokens
      from unnest(g_account, g_key, g_routing, g_idempotency_key, g_fingerprint, g_first, g_count, g_credits)
           with ordinality as g (account_id, key_id, routing, idempotency_key, fingerprint, first, count, credits, n)
      join accounts a on a.account_id = any (array[g.account_id])
      left join keys k on k.key_id = any (array[g.key_id]) and k.account_id = g.account_id
      left join idempotency i on i.account_id = any (array[g.account_id]) and i.key = g.idempotency_key
     order by g.account_id, g.n
  loop
    if account is distinct from r.account_id then
      account := r.account_id;
      purse := r.balance;
      bucket := r.tokens;
      entries := r.ledger_seq;
    end if;
    n := r.n;
    message_ids := null;
    default_sender := r.default_sender;
    outcome := case
      when r.key_id is not null and r.is_revoked then 'key_revoked'
      when r.key_id is not null and r.is_expired then 'key_expired'
      when g_session[r.n] is not null and not hold_session(g_session[r.n]) then 'session_ended'
      when r.is_repeated then 'replayed'
      when not r.is_repeated then 'key_reused'
      -- The first accepted group with a key decides. Repetitions in this call ask again, and then see its record.
      when g_taken[r.first] then 'again'
      when r.is_stale then 'routing_changed'
      -- A batch larger than the whole allowance passes if the allowance is full, and leaves a debt.
      when r.count > bucket and bucket < send_burst then 'rate_limited'
      when r.credits > purse then 'credits_insufficient'
      else 'accepted'
    end;
    if outcome = 'accepted' then
      g_accepted[n] := true;
      g_taken[r.first] := true;
      g_entries[n] := entries;
      g_purse[n] := purse;
      g_sender[n] := default_sender;
      purse := purse - r.credits;
      bucket := bucket - r.count;
      entries := entries + r.count;
      if charged = 0 or c_account[charged] <> account then
        charged := charged + 1;
        c_account[charged] := account;
      end if;
      c_purse[charged] := purse;
      c_bucket[charged] := bucket;
      c_entries[charged] := entries;
    elsif outcome = 'replayed' then
      message_ids := r.message_ids;
    elsif outcome = 'rate_limited' and r.is_ahead then
      -- The clock was set back: without this, the allowance would not grow until that time is reached again.
      update accounts a set send_tokens_at = moment where a.account_id = account and a.send_tokens_at > moment;
    end if;
    available := purse;
    tokens := bucket;
    return next;
  end loop;

  if charged = 0 then
    return;
  end if;

  with m as materialized (
    select u.*, g_account[u.g] as account_id, g_key[u.g] as key_id
      from unnest(m_group, m_place, m_total, m_id, m_recipient, m_sender, m_text, m_encoding, m_segments, m_credits,
                  m_reference, m_metadata, m_callback_url, m_concat_reference, m_carrier, m_created_at, m_send_at,
                  m_expires_at, m_leased)
           as u (g, place, total, id, recipient, sender, text, encoding, segments, credits,
                 reference, metadata, callback_url, concat_reference, carrier_id, created_at, send_at,
                 expires_at, leased)
     where g_accepted[u.g]
  ), entered as (
    insert into ledger (account_id, seq, message_id, kind, amount, balance_after, created_at)
    select m.account_id, g_entries[m.g] + m.place, m.id, 'charge', -m.credits, g_purse[m.g] - m.total, m.created_at
      from m
  ), stored as (
    insert into messages (account_id, message_id, key_id, recipient, sender, text, encoding, segments, credits,
                          status, reference, metadata, callback_url, concat_reference, carrier_id, created_at,
                          send_at, expires_at)
    select m.account_id, m.id, m.key_id, m.recipient, coalesce(m.sender, g_sender[m.g]), m.text, m.encoding,
           m.segments, m.credits, 'QUEUED', m.reference, m.metadata, m.callback_url, m.concat_reference,
           m.carrier_id, m.created_at, m.send_at, m.expires_at
      from m
  ), queued as (
    insert into send_queue (message_id, account_id, carrier_id, due_at, placed_at, expires_at, leased_by,
                            lease_epoch, attempt)
    select m.id, m.account_id, m.carrier_id,
           case when m.leased then moment + lease else coalesce(m.send_at, moment) end,
           coalesce(m.send_at, moment), m.expires_at,
           case when m.leased then node end, m.leased::integer, m.leased::integer
      from m
  ), tallied as (
    insert into stat_changes (account_id, changes)
    select m.account_id, array[(date_bin('1 minute', m.created_at, 'epoch'), null, 'QUEUED', null, null,
                                count(*), sum(m.credits))::stat_change]
      from m
     group by m.account_id, date_bin('1 minute', m.created_at, 'epoch')
  )
  update accounts a
     set balance = c.purse, ledger_seq = c.entries, send_tokens = c.bucket, send_tokens_at = moment
    from unnest(c_account, c_purse, c_entries, c_bucket) as c (account_id, purse, entries, bucket)
   where a.account_id = any (array[c.account_id]);

  if cardinality(array_remove(g_idempotency_key, null)) > 0 then
    insert into idempotency (account_id, key, fingerprint, message_ids, created_at)
    select g_account[m.g], g_idempotency_key[m.g], g_fingerprint[m.g], array_agg(m.id order by m.place), moment
      from unnest(m_group, m_place, m_id) as m (g, place, id)
     where g_accepted[m.g] and g_idempotency_key[m.g] is not null
     group by m.g;
  end if;

  if is_watched then
    insert into watched_changes (account_id, kind, ids, versions, is_charged)
    select w.account_id, 'message', array_agg(m.id::text), array_agg(1::smallint), true
      from unnest(m_group, m_id) as m (g, id)
      join watched_accounts w on w.account_id = any (array[g_account[m.g]]) and w.until > moment
     where g_accepted[m.g]
     group by w.account_id;
  end if;

  -- Sent at once; the rows leave only after the commit, beside which the next batch is stored.
  raise notice 'stored';
end $function$;

CREATE OR REPLACE FUNCTION public.attempts_kept_since()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$
  select min(to_date(right(c.relname, 10), 'YYYY_MM_DD'))::timestamp at time zone 'UTC'
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
   where i.inhparent = 'webhook_attempts'::regclass and c.relname ~ '_\d{4}_\d\d_\d\d$'
$function$;

CREATE OR REPLACE FUNCTION public.book_credits(account uuid, kind text, amount bigint, actor text, note text, reference text, at timestamp with time zone)
 RETURNS TABLE(outcome text, balance bigint)
 LANGUAGE plpgsql
AS $function$
declare
  held accounts;
  earlier bigint;
begin
  select * into held from accounts a where a.account_id = account for no key update;
  if not found then
    return query select 'account_unknown', 0::bigint;
    return;
  end if;
  select l.amount into earlier
    from bookings b
    join ledger l using (account_id, seq)
   where b.account_id = account
     and b.reference = book_credits.reference;
  if earlier is not null then
    return query select case when earlier = amount then 'repeated' else 'reference_reused' end, held.balance;
  elsif held.balance + amount < 0 then
    return query select 'below_zero', held.balance;
  else
    update accounts a set balance = a.balance + amount, ledger_seq = a.ledger_seq + 1 where a.account_id = account;
    insert into ledger (account_id, seq, kind, amount, balance_after, actor, note, created_at)
    values (account, held.ledger_seq + 1, kind, amount, held.balance + amount, actor, note, at);
    if reference is not null then
      insert into bookings (account_id, reference, seq) values (account, reference, held.ledger_seq + 1);
    end if;
    return query select 'booked', held.balance + amount;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION public.claim_deliveries(hosts bigint[], free integer[], firsts boolean, lease interval)
 RETURNS TABLE(message_id uuid, sequence smallint, account_id uuid, host_key bigint, replay_id uuid, attempts smallint, step smallint, lease_epoch integer, created_at timestamp with time zone, is_poison boolean, was_interrupted boolean, claimed_at timestamp with time zone, status text, at timestamp with time zone, url text, body bytea)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET jit TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
#variable_conflict use_column
declare
  moment constant timestamptz := clock_timestamp();
begin
  return query
  with picked as materialized (
    select d.message_id, d.sequence, d.leased_until, d.interrupted
      from unnest(hosts, free) as r (host_key, free)
     cross join lateral (
       select w.message_id, w.sequence, w.leased_until, w.interrupted
         from webhook_deliveries w
        where w.host_key = r.host_key
          and w.is_first = firsts
          and w.next_at <= moment
          -- An expired lease blocks its siblings too until its own row is claimed, which is due. Otherwise the index
          -- that keeps two from being in flight would refuse the siblings for ever.
          and not exists (
                select
                  from webhook_deliveries o
                 where o.message_id = any (array[w.message_id])
                   and o.sequence <> w.sequence
                   and (o.leased_until is not null or (w.is_first and o.is_first and o.sequence < w.sequence))
              )
        order by w.next_at
        limit r.free
          for update of w skip locked
     ) d
  ), chosen as materialized (
    select distinct on (p.message_id) p.message_id, p.sequence, p.leased_until as ran_out_at,
           p.leased_until is not null and p.interrupted >= 2 as is_poison
      from picked p
     order by p.message_id, p.sequence
  ), given_up as (
    delete from webhook_deliveries w
     using chosen c
     where c.is_poison and w.message_id = any (array[c.message_id]) and w.sequence = c.sequence
    returning w.message_id, w.sequence, w.account_id, w.host_key, w.replay_id, w.attempts, w.step, w.lease_epoch,
              w.created_at, true as is_poison, c.ran_out_at, w.attempts as interrupted_attempt
  ), leased as (
    update webhook_deliveries w
       set leased_until = moment + lease,
           next_at = moment + lease,
           lease_epoch = w.lease_epoch + 1,
           -- However often it is replayed, it must not overflow and stop everybody's claims.
           attempts = least(w.attempts::integer + 1, 32767),
           interrupted = case when c.ran_out_at is null then w.interrupted else w.interrupted + 1 end
      from chosen c
     where not c.is_poison and w.message_id = any (array[c.message_id]) and w.sequence = c.sequence
    returning w.message_id, w.sequence, w.account_id, w.host_key, w.replay_id, w.attempts, w.step, w.lease_epoch,
              w.created_at, false as is_poison, c.ran_out_at, w.attempts - 1 as interrupted_attempt
  ), taken as (
    select * from leased union all select * from given_up
  ), noted as (
    insert into webhook_attempts (account_id, message_id, sequence, attempt, at, replay_id, step, error_class, error,
                                  total_ms, ended)
    select t.account_id, t.message_id, t.sequence, t.interrupted_attempt, t.ran_out_at - lease, t.replay_id, t.step,
           'interrupted', 'The process that made this attempt ended before its outcome was recorded.', 0,
           case when t.is_poison then 'exhausted' end
      from taken t
     where t.ran_out_at is not null
  ), told as materialized (
    -- Counts only that the delivery ended. The attempt is counted if its holder ever reports it.
    select tell_watchers_of_attempts(array_agg(g.account_id), array_agg(g.message_id), array_agg(g.sequence)),
           tally_webhooks(array_agg(g.account_id), array_agg(g.ran_out_at - lease),
                          array_agg(null::text), array_agg('exhausted'::text))
      from given_up g
    having count(*) > 0
  )
  select t.message_id, t.sequence, t.account_id, t.host_key, t.replay_id, t.attempts, t.step, t.lease_epoch,
         t.created_at, t.is_poison, t.ran_out_at is not null, moment, e.status, e.at, e.callback_url, e.body
    from taken t
    left join lateral (
      select e.status, e.at, e.callback_url, e.body
        from events e
       where e.message_id = t.message_id and e.sequence = t.sequence and e.body is not null
       limit 1
    ) e on true
    -- Joined because a part of the statement that nothing reads would not run.
    left join told on true;
end $function$;

CREATE OR REPLACE FUNCTION public.claim_sends(carrier uuid, node uuid, lease interval, room integer, after uuid)
 RETURNS TABLE(message_id uuid, account_id uuid, lease_epoch integer, attempt smallint, was_leased boolean)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET jit TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
declare
  moment constant timestamptz := clock_timestamp();
begin
  return query
  with recursive walk as (
    (select q.account_id, q.due_at, 1 as n
       from send_queue q
      where q.carrier_id = carrier and q.account_id > after
      order by q.account_id, q.due_at
      limit 1)
    union all
    select next.account_id, next.due_at, w.n + 1
      from walk w
     cross join lateral (
       select q.account_id, q.due_at
         from send_queue q
        where q.carrier_id = carrier and q.account_id > w.account_id
        order by q.account_id, q.due_at
        limit 1
     ) next
     where w.n < 500
  ), lanes as materialized (
    -- The walk meets an account at its earliest row: if that is not due, none of its rows is.
    select w.account_id from walk w where w.due_at <= moment
  ), picked as materialized (
    select d.message_id, d.was_leased
      from lanes l
     cross join lateral (
       select q.message_id, q.leased_by is not null as was_leased
         from send_queue q
        where q.carrier_id = carrier and q.account_id = l.account_id and q.due_at <= moment
        order by q.due_at, q.message_id
        limit greatest(1, room / greatest(1, (select count(*) from lanes)))
          for update skip locked
     ) d
     limit room
  ), leased as (
    update send_queue q
       set leased_by = node,
           lease_epoch = q.lease_epoch + 1,
           -- Must not overflow, even if a link goes up and down for days.
           attempt = least(q.attempt::integer + 1, 32767),
           due_at = moment + lease
      from picked p
     where q.message_id = any (array[p.message_id])
    returning q.message_id, q.account_id, q.lease_epoch, q.attempt, p.was_leased, q.placed_at
  )
  -- An update returns rows in the order of its join, which may be any.
  (select l.message_id, l.account_id, l.lease_epoch, l.attempt, l.was_leased
     from leased l
    order by l.placed_at, l.message_id)
  union all
  select null, w.account_id, null, null, null from walk w where w.n = 500;
end $function$;

CREATE OR REPLACE FUNCTION public.count_routing_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update routing_version set version = version + 1;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.drop_oldest_messages(keep interval)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
declare
  month text;
  bound uuid;
begin
  -- One node at a time; the others have nothing to do.
  if not pg_try_advisory_xact_lock(hashtext('posthorn message partitions')) then
    return null;
  end if;
  select right(c.relname, 7) into month
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
   where i.inhparent = 'messages'::regclass
     and c.relname ~ '_\d{4}_\d\d$'
     and (to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month') at time zone 'UTC' <= clock_timestamp() - keep
   order by 1
   limit 1;
  bound := id_floor((to_date(month, 'YYYY_MM') + interval '1 month') at time zone 'UTC');
  if month is null
     or exists (select from send_queue q where q.message_id < bound)
     or exists (select from webhook_deliveries w where w.message_id < bound) then
    return null;
  end if;
  -- A drop locks out all users of the tables, and waits for their readers: behind a long one every request would queue.
  -- So it waits only briefly, and is tried again later. The order is that of recording.
  perform set_config('lock_timeout', '200ms', true);
  begin
    execute format('drop table if exists %I, %I, %I', 'submissions_' || month, 'messages_' || month, 'events_' || month);
    -- Asked again: while it waited, a receipt or a replay may have queued a webhook. From here on, none can.
    if exists (select from webhook_deliveries w where w.message_id < bound) then
      raise lock_not_available;
    end if;
    delete from messages_other where message_id < bound;
    delete from events_other where message_id < bound;
    delete from submissions_other where message_id < bound;
  exception when lock_not_available then
    return null;
  end;
  return month;
end $function$;

CREATE OR REPLACE FUNCTION public.due_lanes(after bigint, most integer)
 RETURNS TABLE(host_key bigint, n integer, first_at timestamp with time zone, again_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE
 SET plan_cache_mode TO 'force_generic_plan'
 SET jit TO 'off'
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_column
declare
  moment constant timestamptz := clock_timestamp();
begin
  return query
  with recursive walk as (
    (select w.host_key, 1 as n
       from webhook_deliveries w
      where w.host_key > after
      order by w.host_key
      limit 1)
    union all
    select next.host_key, w.n + 1
      from walk w
     cross join lateral (
       select d.host_key
         from webhook_deliveries d
        where d.host_key > w.host_key
        order by d.host_key
        limit 1
     ) next
     where w.n < most
  ), lanes as (
    select w.host_key, w.n,
           (select d.next_at
              from webhook_deliveries d
             where d.host_key = w.host_key and d.is_first and d.next_at <= moment
             order by d.next_at
             limit 1) as first_at,
           (select d.next_at
              from webhook_deliveries d
             where d.host_key = w.host_key and not d.is_first and d.next_at <= moment
             order by d.next_at
             limit 1) as again_at
      from walk w
  )
  select l.host_key, l.n, l.first_at, l.again_at
    from lanes l
   where l.first_at is not null or l.again_at is not null or l.n = (select max(w.n) from walk w);
end $function$;

CREATE OR REPLACE FUNCTION public.event_id(message_id uuid, sequence smallint)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (("left"((message_id)::text, 35) || to_hex((sequence)::integer)))::uuid;

CREATE OR REPLACE FUNCTION public.fold_stats(most integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  folded integer;
begin
  if not pg_try_advisory_xact_lock(hashtext('posthorn fold statistics')) then
    return 0;
  end if;

  with taken as (
    delete from stat_changes s
     where s.change_id in (select t.change_id from stat_changes t order by t.change_id limit most)
    returning s.account_id, s.changes
  ), each as materialized (
    select t.account_id, w.width, date_bin(make_interval(mins => w.width), c.minute, 'epoch') as start,
           c.was, c.now_is, c.error, c.latency, c.count, c.credits
      from taken t
     cross join lateral unnest(t.changes) c
     cross join (values (1), (15)) as w (width)
  ), summed as (
    insert into stat_spans as s (account_id, width, start, queued, sent, delivered, undelivered, failed, charged, refunded,
                                 webhooks_delivered, webhooks_exhausted, webhooks_failed)
    select e.account_id, e.width, e.start,
           coalesce(sum(e.count) filter (where e.now_is = 'QUEUED'), 0) - coalesce(sum(e.count) filter (where e.was = 'QUEUED'), 0),
           coalesce(sum(e.count) filter (where e.now_is = 'SENT'), 0) - coalesce(sum(e.count) filter (where e.was = 'SENT'), 0),
           coalesce(sum(e.count) filter (where e.now_is = 'DELIVERED'), 0),
           coalesce(sum(e.count) filter (where e.now_is = 'UNDELIVERED'), 0),
           coalesce(sum(e.count) filter (where e.now_is = 'FAILED'), 0),
           coalesce(sum(e.credits) filter (where e.now_is = 'QUEUED'), 0),
           coalesce(sum(e.credits) filter (where e.now_is = 'FAILED'), 0),
           coalesce(sum(e.count) filter (where e.now_is = 'webhook_delivered'), 0),
           coalesce(sum(e.count) filter (where e.now_is = 'webhook_exhausted'), 0),
           coalesce(sum(e.count) filter (where e.now_is = 'webhook_failed'), 0)
      from each e
     group by e.account_id, e.width, e.start
        on conflict (account_id, width, start) do update
       set queued = s.queued + excluded.queued,
           sent = s.sent + excluded.sent,
           delivered = s.delivered + excluded.delivered,
           undelivered = s.undelivered + excluded.undelivered,
           failed = s.failed + excluded.failed,
           charged = s.charged + excluded.charged,
           refunded = s.refunded + excluded.refunded,
           webhooks_delivered = s.webhooks_delivered + excluded.webhooks_delivered,
           webhooks_exhausted = s.webhooks_exhausted + excluded.webhooks_exhausted,
           webhooks_failed = s.webhooks_failed + excluded.webhooks_failed
  ), blamed as (
    insert into stat_errors as s (account_id, width, start, code, count)
    select e.account_id, e.width, e.start, e.error, sum(e.count)
      from each e
     where e.error is not null
     group by e.account_id, e.width, e.start, e.error
        on conflict (account_id, width, start, code) do update set count = s.count + excluded.count
  ), timed as (
    insert into stat_latencies as s (account_id, width, start, class, count)
    select e.account_id, e.width, e.start, e.latency, sum(e.count)
      from each e
     where e.latency is not null
     group by e.account_id, e.width, e.start, e.latency
        on conflict (account_id, width, start, class) do update set count = s.count + excluded.count
  )
  select count(*) into folded from taken;
  return folded;
end $function$;

CREATE OR REPLACE FUNCTION public.give_up_waiting(hosts bigint[], age interval, most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET jit TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
declare
  moment    constant timestamptz := clock_timestamp();
  given_up  integer;
  accounts  uuid[];
  messages  uuid[];
  sequences smallint[];
begin
  with old as materialized (
    select d.message_id, d.sequence
      from unnest(hosts) as h (host_key)
     cross join (values (true), (false)) as k (is_first)
     cross join lateral (
       select w.message_id, w.sequence, w.created_at, w.leased_until
         from webhook_deliveries w
        where w.host_key = h.host_key and w.is_first = k.is_first
        order by w.next_at
        limit most
     ) d
     where d.created_at <= moment - age and d.leased_until is null
     limit most
  ), idle as materialized (
    select w.message_id, w.sequence
      from old o
      join webhook_deliveries w on w.message_id = any (array[o.message_id]) and w.sequence = o.sequence
     where w.created_at <= moment - age and w.leased_until is null
       for update of w skip locked
  ), gone as (
    delete from webhook_deliveries w
     using idle i
     where w.message_id = any (array[i.message_id]) and w.sequence = i.sequence
    returning w.account_id, w.message_id, w.sequence, w.attempts, w.replay_id, w.step
  ), noted as (
    insert into webhook_attempts (account_id, message_id, sequence, attempt, at, replay_id, step, error_class, error,
                                  total_ms, ended)
    select g.account_id, g.message_id, g.sequence, least(g.attempts::integer + 1, 32767), moment, g.replay_id, g.step,
           'host_open',
           'The receiver let every attempt time out, so it was only probed; after a day this one was given up.', 0,
           'exhausted'
      from gone g
  )
  select count(*), array_agg(g.account_id), array_agg(g.message_id), array_agg(g.sequence)
    into given_up, accounts, messages, sequences
    from gone g;

  perform tell_watchers_of_attempts(accounts, messages, sequences);
  perform tally_webhooks(accounts, array_fill(moment, array[given_up]), array_fill('host_open'::text, array[given_up]),
                         array_fill('exhausted'::text, array[given_up]));
  return given_up;
end $function$;

CREATE OR REPLACE FUNCTION public.hold_session(session uuid)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  perform from sessions s where s.session_id = session for key share;
  return found;
end $function$;

CREATE OR REPLACE FUNCTION public.id_floor(at timestamp with time zone)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((lpad(to_hex((GREATEST((0)::numeric, floor((EXTRACT(epoch FROM at) * (1000)::numeric))))::bigint), 12, '0'::text) || '00000000000000000000'::text))::uuid;

CREATE OR REPLACE FUNCTION public.is_watched(account uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN (EXISTS (SELECT FROM watched_accounts w WHERE ((w.account_id = is_watched.account) AND (w.until > clock_timestamp()))));

CREATE OR REPLACE FUNCTION public.keep_attempt_partitions(around timestamp with time zone, keep interval)
 RETURNS integer
 LANGUAGE plpgsql
 SET lock_timeout TO '200ms'
AS $function$
declare
  day     date;
  name    text;
  dropped integer := 0;
begin
  -- One node at a time. The others wait for it, no longer than for any lock, and find the work done.
  begin
    perform pg_advisory_xact_lock(hashtext('posthorn attempt partitions'));
  exception when lock_not_available then
    return 0;
  end;
  for day in select (around at time zone 'UTC')::date + n from generate_series(-1, 3) n loop
    name := 'webhook_attempts' || to_char(day, '_YYYY_MM_DD');
    begin
      execute format(
        'create table if not exists %I partition of webhook_attempts for values from (%L) to (%L)',
        name, day::text || ' 00:00+00', (day + 1)::text || ' 00:00+00'
      );
    exception
      when check_violation then
        -- The day was not made in time, and its rows went to the default partition, where they stay.
        raise warning '% cannot be made, webhook_attempts_other holds rows of that day', name;
      when lock_not_available then
        raise warning 'webhook_attempts is in use, and % is made later', name;
        exit;
    end;
  end loop;
  execute 'create table if not exists webhook_attempts_other partition of webhook_attempts default';

  for name in
    select c.relname
      from pg_inherits i
      join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'webhook_attempts'::regclass
       and c.relname ~ '_\d{4}_\d\d_\d\d$'
       and to_date(right(c.relname, 10), 'YYYY_MM_DD') < ((around - keep) at time zone 'UTC')::date
     order by c.relname
     limit 10
  loop
    begin
      execute format('drop table %I', name);
      dropped := dropped + 1;
    exception when lock_not_available then
      raise warning '% is being read, and is dropped later', name;
    end;
  end loop;
  return dropped;
end $function$;

CREATE OR REPLACE FUNCTION public.latency_class(taken interval)
 RETURNS smallint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (floor((ln(GREATEST((1)::double precision, (date_part('epoch'::text, taken) * (1000)::double precision))) / ln((1.1)::double precision))))::smallint;

CREATE OR REPLACE FUNCTION public.ledger_seq_at(account uuid, moment timestamp with time zone)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  low  bigint := 1;
  high bigint;
  half bigint;
begin
  select coalesce(max(l.seq), 0) + 1 into high from ledger l where l.account_id = account;
  while low < high loop
    half := (low + high) / 2;
    if (select l.created_at < moment from ledger l where l.account_id = account and l.seq = half) then
      low := half + 1;
    else
      high := half;
    end if;
  end loop;
  return low;
end $function$;

CREATE OR REPLACE FUNCTION public.make_partitions(parent text, around timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET lock_timeout TO '200ms'
AS $function$
declare
  -- In UTC and without a zone, because months of a timestamptz depend on the session's zone.
  month timestamp;
begin
  -- One node at a time. The others wait for it, no longer than for any lock, and find the work done.
  perform pg_advisory_xact_lock(hashtext('posthorn message partitions'));
  for month in
    select date_trunc('month', around at time zone 'UTC') + n * interval '1 month'
      from generate_series(-1, 2) n
  loop
    begin
      execute format(
        'create table if not exists %I partition of %I for values from (%L) to (%L) with (fillfactor = %s)',
        parent || to_char(month, '_YYYY_MM'), parent,
        id_floor(month at time zone 'UTC'),
        id_floor((month + interval '1 month') at time zone 'UTC'),
        case parent when 'events' then 100 else 60 end
      );
    exception when check_violation then
      -- The month was not made in time, and its rows went to the default partition, where they stay.
      raise warning '% cannot be split by month, %_other holds rows of %', parent, parent, month;
    end;
  end loop;
  execute format('create table if not exists %I partition of %I default', parent || '_other', parent);
exception when lock_not_available then
  raise warning '% is in use, and its months are made later', parent;
end $function$;

CREATE OR REPLACE FUNCTION public.move_messages(m_account uuid[], m_id uuid[], m_from text[], m_to text[], m_at timestamp with time zone[], m_carrier uuid[], m_error text[], m_carrier_code text[], m_body bytea[], m_host_key bigint[], m_lease boolean[], lease interval)
 RETURNS TABLE(message_id uuid, sequence smallint, is_leased boolean, is_blocked boolean, moved_at timestamp with time zone)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET jit TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
#variable_conflict use_column
declare
  moment constant timestamptz := clock_timestamp();
begin
  perform from messages m
     join unnest(m_account, m_id) as u (account_id, id) on m.account_id = any (array[u.account_id]) and m.message_id = u.id
    order by m.message_id for no key update of m;

  return query
  with u as materialized (
    select * from unnest(m_account, m_id, m_from, m_to, m_at, m_carrier, m_error, m_carrier_code, m_body, m_host_key, m_lease)
      as u (account_id, id, was, now_is, at, carrier_id, error, carrier_code, body, host_key, lease)
  ), changed as (
    update messages m
       set status = u.now_is,
           sequence = m.sequence + 1,
           carrier_id = coalesce(u.carrier_id, m.carrier_id),
           sent_at = case when u.now_is = 'SENT' then u.at else m.sent_at end,
           final_at = case when u.now_is = 'SENT' then null else u.at end,
           error_code = u.error,
           error_carrier_code = u.carrier_code
      from u
     where m.account_id = any (array[u.account_id]) and m.message_id = u.id and m.status = u.was
    returning m.account_id, m.message_id, m.sequence, m.status, u.at, m.callback_url, m.credits, u.body, u.host_key,
              u.lease, u.was, m.error_code, m.created_at, coalesce(m.send_at, m.created_at) as due_at
  ), noted as (
    insert into events (message_id, sequence, account_id, status, at, callback_url, body)
    select c.message_id, c.sequence, c.account_id, c.status, c.at, case when c.body is not null then c.callback_url end, c.body
      from changed c
  ), told_of as materialized (
    select c.message_id, c.sequence, c.account_id, c.host_key, c.lease and o.count = 0 as is_leased, o.leased > 0 as is_blocked
      from changed c
     cross join lateral (
       select count(*) as count, count(w.leased_until) as leased
         from webhook_deliveries w
        where w.message_id = c.message_id
     ) o
     where c.body is not null
  ), due as (
    insert into webhook_deliveries (message_id, sequence, account_id, host_key, created_at, next_at, attempts,
                                    leased_until, lease_epoch)
    select t.message_id, t.sequence, t.account_id, t.host_key, moment,
           case when t.is_leased then moment + lease else moment end, t.is_leased::integer,
           case when t.is_leased then moment + lease end, t.is_leased::integer
      from told_of t
  ), followed as (
    insert into followed_events (account_id, message_id, sequence)
    select c.account_id, c.message_id, c.sequence
      from changed c
     where c.account_id = any (array(select f.account_id from followers f where f.until > moment))
  ), tallied as (
    insert into stat_changes (account_id, changes)
    select t.account_id,
           array_agg((t.minute, t.was, t.status, t.error_code, t.latency, t.count, t.credits)::stat_change)
      from (select c.account_id, date_bin('1 minute', c.created_at, 'epoch') as minute, c.was, c.status, c.error_code,
                   case c.status when 'DELIVERED' then latency_class(c.at - c.due_at) end as latency,
                   count(*) as count, sum(c.credits) as credits
              from changed c
             group by c.account_id, minute, c.was, c.status, c.error_code, latency) t
     group by t.account_id
  ), told as (
    insert into watched_changes (account_id, kind, ids, versions, is_charged)
    select c.account_id, 'message', array_agg(c.message_id::text), array_agg(c.sequence), bool_or(c.status = 'FAILED')
      from changed c
     where c.account_id = any (array(select w.account_id from watched_accounts w where w.until > moment))
     group by c.account_id
  ), refunded as (
    insert into ledger (account_id, seq, message_id, kind, amount, balance_after, created_at)
    select c.account_id, a.ledger_seq + row_number() over w, c.message_id, 'refund', c.credits,
           a.balance + sum(c.credits) over w, c.at
      from changed c
      join accounts a on a.account_id = c.account_id
     where c.status = 'FAILED'
    window w as (partition by c.account_id order by c.message_id rows unbounded preceding)
  ), credited as (
    update accounts a
       set balance = a.balance + s.credits, ledger_seq = a.ledger_seq + s.count
      from (select c.account_id, sum(c.credits) as credits, count(*) as count
              from changed c where c.status = 'FAILED' group by c.account_id) s
     where a.account_id = s.account_id
  )
  select t.message_id, t.sequence, t.is_leased, t.is_blocked, moment
    from told_of t
   union all
  select c.message_id, c.sequence, false, false, moment
    from changed c
   where c.body is null;
end $function$;

CREATE OR REPLACE FUNCTION public.newest_replays(hosts bigint[])
 RETURNS TABLE(host_key bigint, replay_id uuid)
 LANGUAGE sql
 STABLE
 SET jit TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_sort TO 'off'
 SET enable_incremental_sort TO 'off'
AS $function$
  select h.host_key, r.replay_id
    from unnest(hosts) as h (host_key)
   cross join lateral (
     select w.replay_id
       from webhook_deliveries w
      where w.host_key between h.host_key and h.host_key and w.replay_id is not null
      order by w.host_key desc, w.replay_id desc
      limit 1
   ) r;
$function$;

CREATE OR REPLACE FUNCTION public.partition_health()
 RETURNS TABLE(parent text, until timestamp with time zone, has_strays boolean)
 LANGUAGE sql
 STABLE
AS $function$
  values ('messages', partitions_until('messages'), exists (select from messages_other)),
         ('events', partitions_until('events'), exists (select from events_other)),
         ('submissions', partitions_until('submissions'), exists (select from submissions_other)),
         ('webhook_attempts', partitions_until('webhook_attempts'), exists (select from webhook_attempts_other))
$function$;

CREATE OR REPLACE FUNCTION public.partitions_until(parent regclass)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$
  select max(case
           when c.relname ~ '_\d{4}_\d\d_\d\d$' then to_date(right(c.relname, 10), 'YYYY_MM_DD') + interval '1 day'
           when c.relname ~ '_\d{4}_\d\d$' then to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month'
         end) at time zone 'UTC'
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
   where i.inhparent = parent
$function$;

CREATE OR REPLACE FUNCTION public.record_attempts(a_account uuid[], a_message uuid[], a_sequence smallint[], a_attempt smallint[], a_at timestamp with time zone[], a_replay uuid[], a_step smallint[], a_status smallint[], a_class text[], a_error text[], a_dns real[], a_connect real[], a_tls real[], a_first_byte real[], a_total real[], a_address text[], a_headers text[], a_answer bytea[], a_epoch integer[], a_next text[], a_ended text[], a_next_step smallint[], a_wait_ms double precision[])
 RETURNS SETOF bigint
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET jit TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
declare
  held   integer[];
  stored integer[] := '{}';
  -- For deliveries given up because their holders were lost: the attempts, and how they ended the delivery.
  late_n integer[] := '{}';
  late_ended text[] := '{}';
begin
  with u as materialized (
    select *
      from unnest(a_message, a_sequence, a_epoch, a_replay, a_next, a_next_step, a_wait_ms) with ordinality
           as u (message_id, sequence, epoch, replay_id, next, next_step, wait_ms, n)
  ), finished as (
    delete from webhook_deliveries w
     using u
     where u.next = 'ended' and w.message_id = any (array[u.message_id]) and w.sequence = u.sequence
       and case when w.leased_until is not null
                then w.lease_epoch = u.epoch and w.replay_id is not distinct from u.replay_id end
    returning u.n
  ), put_off as (
    update webhook_deliveries w
       set leased_until = null,
           interrupted = case u.next when 'put_back' then w.interrupted else 0 end,
           step = u.next_step,
           attempts = case u.next when 'put_back' then w.attempts - 1 else w.attempts end,
           next_at = clock_timestamp() + make_interval(secs => u.wait_ms / 1000.0)
      from u
     where u.next in ('again', 'put_back')
       and w.message_id = any (array[u.message_id]) and w.sequence = u.sequence
       and case when w.leased_until is not null
                then w.lease_epoch = u.epoch and w.replay_id is not distinct from u.replay_id end
    returning u.n
  )
  select array_agg(h.n) into held from (select n from finished union all select n from put_off) h;

  -- The next claim recorded this attempt as interrupted. It was not, as is known now.
  if coalesce(cardinality(held), 0) < cardinality(a_message) then
    select coalesce(array_agg(u.n), '{}') into stored
      from unnest(a_account, a_message, a_sequence, a_attempt, a_at) with ordinality
           as u (account_id, message_id, sequence, attempt, at, n)
      join webhook_attempts a
        on a.account_id = any (array[u.account_id]) and a.message_id = u.message_id
       and a.sequence = u.sequence and a.attempt = u.attempt and a.at = u.at;
    with told as (
      delete from webhook_attempts a
       using unnest(a_account, a_message, a_sequence, a_attempt, a_at, a_next) with ordinality
             as u (account_id, message_id, sequence, attempt, at, next, n)
       where u.next <> 'put_back' and not u.n = any (coalesce(held, '{}'))
         and a.account_id = any (array[u.account_id]) and a.message_id = u.message_id
         and a.sequence = u.sequence and a.attempt = u.attempt and a.error_class = 'interrupted'
         and a.at between u.at - interval '1 day' and u.at + interval '1 day'
      returning u.n, a.ended
    )
    select coalesce(array_agg(n), '{}'), coalesce(array_agg(ended), '{}') into late_n, late_ended
      from told
     where ended is not null;
  end if;

  insert into webhook_attempts (account_id, message_id, sequence, attempt, at, replay_id, step, http_status, error_class,
                                error, dns_ms, connect_ms, tls_ms, first_byte_ms, total_ms, address, answer_headers,
                                answer, ended)
  select u.account_id, u.message_id, u.sequence, u.attempt, u.at, u.replay_id, u.step, u.status, u.class, u.error, u.dns,
         u.connect, u.tls, u.first_byte, u.total, u.address, u.headers::json, u.answer,
         case when u.n = any (held) then u.ended else late_ended[array_position(late_n, u.n::integer)] end
    from unnest(a_account, a_message, a_sequence, a_attempt, a_at, a_replay, a_step, a_status, a_class, a_error, a_dns,
                a_connect, a_tls, a_first_byte, a_total, a_address, a_headers, a_answer, a_next, a_ended)
         with ordinality
         as u (account_id, message_id, sequence, attempt, at, replay_id, step, status, class, error, dns, connect, tls,
               first_byte, total, address, headers, answer, next, ended, n)
   where u.next <> 'put_back' and not u.n = any (stored);

  perform tell_watchers_of_attempts(a_account, a_message, a_sequence);
  perform tally_webhooks(
    a_account, a_at,
    array(select case when u.next <> 'put_back' and not u.n = any (stored) then u.class end
            from unnest(a_class, a_next) with ordinality as u (class, next, n) order by u.n),
    array(select case when u.n = any (held) then u.ended end
            from unnest(a_ended) with ordinality as u (ended, n) order by u.n)
  );

  return query
  select distinct w.host_key
    from unnest(a_message) as u (message_id)
   cross join lateral (
     select d.host_key, d.is_first, d.next_at
       from webhook_deliveries d
      where d.message_id = any (array[u.message_id])
     offset 0
   ) w
   where w.is_first and w.next_at <= clock_timestamp();
end $function$;

CREATE OR REPLACE FUNCTION public.record_submissions(node uuid, s_message uuid[], s_account uuid[], s_epoch integer[], s_segment smallint[], s_turn integer[], s_is_whole boolean[], s_carrier uuid[], s_at timestamp with time zone[], s_outcome text[], s_carrier_message_id text[], s_match_id text[], s_carrier_code text[], s_error_code text[], s_in_doubt_at timestamp with time zone[], s_doubt_reason text[], s_doubt_action text[], s_step text[], s_delay_ms integer[], s_next_carrier uuid[])
 RETURNS TABLE(message_id uuid, lease_epoch integer)
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET jit TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
#variable_conflict use_column
declare
  held uuid[];
  epochs integer[];
begin
  select array_agg(h.message_id), array_agg(h.lease_epoch) into held, epochs
    from (
      select q.message_id, q.lease_epoch
        from send_queue q
       where q.message_id = any (s_message) and q.leased_by = node
       order by q.message_id
         for update of q
    ) h;

  insert into submissions (message_id, segment, turn, is_whole, account_id, carrier_id, at, outcome, carrier_message_id,
                           match_id, carrier_code, error_code, in_doubt_at, doubt_reason, doubt_action)
  select u.message_id, u.segment, u.turn, u.is_whole, u.account_id, u.carrier_id, u.at, u.outcome, u.carrier_message_id,
         u.match_id, u.carrier_code, u.error_code, u.in_doubt_at, u.doubt_reason, u.doubt_action
    from unnest(s_message, s_account, s_segment, s_turn, s_is_whole, s_carrier, s_at, s_outcome, s_carrier_message_id, s_match_id,
                s_carrier_code, s_error_code, s_in_doubt_at, s_doubt_reason, s_doubt_action)
         as u (message_id, account_id, segment, turn, is_whole, carrier_id, at, outcome, carrier_message_id, match_id,
               carrier_code, error_code, in_doubt_at, doubt_reason, doubt_action)
   where u.outcome is not null or u.in_doubt_at is not null
      on conflict (message_id, segment, turn) do update
     set outcome = coalesce(submissions.outcome, excluded.outcome),
         -- If no answer was known when the row was written, is_whole was a guess. The answer knows.
         is_whole = case when submissions.outcome is null and excluded.outcome is not null
                         then excluded.is_whole else submissions.is_whole end,
         answered_at = case when submissions.outcome is null and excluded.outcome is not null
                            then excluded.at else submissions.answered_at end,
         carrier_message_id = coalesce(submissions.carrier_message_id, excluded.carrier_message_id),
         match_id = coalesce(submissions.match_id, excluded.match_id),
         carrier_code = coalesce(submissions.carrier_code, excluded.carrier_code),
         error_code = coalesce(submissions.error_code, excluded.error_code);

  delete from send_queue q
   using unnest(s_message, s_epoch, s_step) as u (message_id, epoch, step)
   where q.message_id = any (array[u.message_id]) and u.epoch = q.lease_epoch and u.step in ('sent', 'failed')
     and q.leased_by = node;

  update send_queue q
     set leased_by = null,
         carrier_id = coalesce(u.next_carrier, q.carrier_id),
         due_at = case when u.delay_ms = 0 then q.placed_at
                       else clock_timestamp() + make_interval(secs => u.delay_ms / 1000.0) end
    from unnest(s_message, s_epoch, s_step, s_delay_ms, s_next_carrier) as u (message_id, epoch, step, delay_ms, next_carrier)
   where q.message_id = any (array[u.message_id]) and u.epoch = q.lease_epoch and u.step = 'again'
     and q.leased_by = node;

  return query select h.message_id, h.epoch from unnest(held, epochs) as h (message_id, epoch);
end $function$;

CREATE OR REPLACE FUNCTION public.redact_texts(age interval, most integer)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  -- An index can be searched with this, but not with a call of clock_timestamp().
  moment constant timestamptz := clock_timestamp();
  here   redaction;
  looked integer := 0;
  page   integer;
begin
  if not pg_try_advisory_xact_lock(hashtext('posthorn redaction')) then
    return false;
  end if;

  with due as materialized (
    select d.look_at, d.account_id, d.message_id
      from redactions_due d
     where d.look_at < moment
     order by d.look_at
     limit most
  ), put_off as (
    update redactions_due d
       set look_at = clock_timestamp() + interval '1 hour'
      from due
      join messages m on m.account_id = due.account_id and m.message_id = due.message_id and m.status = 'QUEUED'
     where d.look_at = due.look_at and d.message_id = due.message_id
    returning d.message_id
  ), settled as (
    delete from redactions_due d
     using due
     where d.look_at = due.look_at and d.message_id = due.message_id
       and not exists (
             select from messages m
              where m.account_id = due.account_id and m.message_id = due.message_id and m.status = 'QUEUED'
           )
    returning d.account_id, d.message_id
  )
  update messages m
     set text = '[redacted]'
    from settled s
   where m.account_id = s.account_id and m.message_id = s.message_id and m.status <> 'QUEUED';

  select * into here from redaction;
  if here.until is null then
    if clock_timestamp() - age < here.done_until + interval '1 minute' then
      return false;
    end if;
    here.until := clock_timestamp() - age;
    here.account_id := '00000000-0000-0000-0000-000000000000';
    here.message_id := here.account_id;
  end if;

  while looked < most and here.until is not null loop
    with next as materialized (
      select m.message_id, m.status, m.expires_at
        from messages m
       where m.account_id = here.account_id
         and m.message_id > greatest(here.message_id, id_floor(here.done_until))
         and m.message_id < id_floor(here.until)
       order by m.message_id
       limit most
    ), put_off as (
      insert into redactions_due (look_at, account_id, message_id)
      select n.expires_at + interval '1 hour', here.account_id, n.message_id from next n where n.status = 'QUEUED'
          on conflict do nothing
    ), redacted as (
      update messages m
         set text = '[redacted]'
        from next n
       where m.account_id = here.account_id and m.message_id = n.message_id
         and m.status <> 'QUEUED' and m.text <> '[redacted]'
    )
    select count(*), coalesce(max(n.message_id::text)::uuid, here.message_id) into page, here.message_id from next n;
    -- Looking at an account counts too, even if it has no messages.
    looked := looked + page + 1;
    if page = 0 or looked < most then
      select a.account_id into here.account_id
        from accounts a where a.account_id > here.account_id order by a.account_id limit 1;
      here.message_id := '00000000-0000-0000-0000-000000000000';
      if here.account_id is null then
        here.done_until := here.until;
        here.until := null;
        here.account_id := here.message_id;
      end if;
    end if;
  end loop;

  update redaction r
     set done_until = here.done_until, until = here.until, account_id = here.account_id, message_id = here.message_id;
  return here.until is not null;
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception '% is append-only', tg_table_name;
end $function$;

CREATE OR REPLACE FUNCTION public.tally_webhooks(accounts uuid[], ats timestamp with time zone[], errors text[], ends text[])
 RETURNS void
 LANGUAGE sql
AS $function$
  insert into stat_changes (account_id, changes)
  select t.account_id, array_agg((t.minute, null, t.kind, null, null, t.count, 0)::stat_change)
    from (select u.account_id, date_bin('1 minute', u.at, 'epoch') as minute, k.kind, count(*) as count
            from unnest(accounts, ats, errors, ends) as u (account_id, at, error, ended)
           cross join lateral (
             values (case u.ended when 'delivered' then 'webhook_delivered' when 'exhausted' then 'webhook_exhausted' end),
                    (case when u.error is not null then 'webhook_failed' end)
           ) as k (kind)
           where k.kind is not null
           group by u.account_id, minute, k.kind) t
   group by t.account_id
$function$;

CREATE OR REPLACE FUNCTION public.tell_watchers_of_attempts(accounts uuid[], messages uuid[], sequences smallint[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if not exists (select from watched_accounts w where w.until > clock_timestamp()) then
    return;
  end if;
  insert into watched_changes (account_id, kind, ids)
  select n.account_id, 'delivery', array_agg(distinct event_id(n.message_id, n.sequence)::text)
    from unnest(accounts, messages, sequences) as n (account_id, message_id, sequence)
    join watched_accounts w on w.account_id = n.account_id and w.until > clock_timestamp()
   group by n.account_id;
end $function$;

CREATE OR REPLACE FUNCTION public.tell_watchers_of_audit()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  operator  constant uuid := '00000000-0000-0000-0000-000000000000';
  subject   constant text := split_part(new.action, '.', 1);
  -- What the lists of accounts, users and members show. Nothing reports when somebody was last seen.
  is_listed constant boolean := subject in ('account', 'credits', 'setup', 'member')
    or new.action in ('user.created', 'user.changed', 'user.operator_changed', 'user.password_reset',
                      'user.second_factor_switched_on', 'user.second_factor_switched_off');
begin
  if new.account_id is not null and subject in ('key', 'member', 'credits', 'account', 'secret') and is_watched(new.account_id) then
    insert into watched_changes (account_id, kind, ids, is_charged)
    values (new.account_id, case subject when 'secret' then 'account' else subject end,
            array_remove(array[new.object_id], null), subject = 'credits');
  end if;
  if subject = 'user' and is_listed then
    insert into watched_changes (account_id, kind, ids)
    select m.account_id, 'member', array[new.object_id]
      from memberships m
      join watched_accounts w on w.account_id = m.account_id and w.until > clock_timestamp()
     where m.user_id = new.object_id::uuid;
  end if;
  if is_watched(operator) then
    insert into watched_changes (account_id, kind)
    select operator, k.kind
      from unnest(array['audit', case when is_listed then 'accounts'
                                      when subject = 'carrier' then 'carriers'
                                      when subject in ('route', 'price') then 'routing' end]) as k (kind)
     where k.kind is not null;
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.tell_watchers_of_key_usage()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into watched_changes (account_id, kind, ids)
  select k.account_id, 'key', array_agg(k.key_id::text)
    from used u
    join keys k on k.key_id = u.key_id
    join watched_accounts w on w.account_id = k.account_id and w.until > clock_timestamp()
   group by k.account_id;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.unfolded_stats(account uuid, width integer)
 RETURNS TABLE(start timestamp with time zone, was text, now_is text, error text, latency smallint, count integer, credits bigint)
 LANGUAGE sql
 STABLE
AS $function$
  select date_bin(make_interval(mins => width), c.minute, 'epoch'), c.was, c.now_is, c.error, c.latency, c.count, c.credits
    from stat_changes s
   cross join lateral unnest(s.changes) c
   where s.account_id = account
$function$;

CREATE TRIGGER audit_log_is_append_only BEFORE DELETE OR UPDATE ON public.audit_log FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER watchers_hear_of_audit AFTER INSERT ON public.audit_log FOR EACH ROW EXECUTE FUNCTION tell_watchers_of_audit();
CREATE TRIGGER carriers_change_routing AFTER INSERT OR DELETE OR UPDATE ON public.carriers FOR EACH STATEMENT EXECUTE FUNCTION count_routing_change();
CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON public.events FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER watchers_hear_of_first_use AFTER INSERT ON public.key_usage REFERENCING NEW TABLE AS used FOR EACH STATEMENT EXECUTE FUNCTION tell_watchers_of_key_usage();
CREATE TRIGGER watchers_hear_of_use AFTER UPDATE ON public.key_usage REFERENCING NEW TABLE AS used FOR EACH STATEMENT EXECUTE FUNCTION tell_watchers_of_key_usage();
CREATE TRIGGER ledger_is_append_only BEFORE DELETE OR UPDATE ON public.ledger FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER prices_change_routing AFTER INSERT OR DELETE OR UPDATE ON public.prices FOR EACH STATEMENT EXECUTE FUNCTION count_routing_change();
CREATE TRIGGER routes_change_routing AFTER INSERT OR DELETE OR UPDATE ON public.routes FOR EACH STATEMENT EXECUTE FUNCTION count_routing_change();
