-- Accounts, their API keys and signing secrets, and the log of who changed what.

-- The row lock of an account orders everything that touches its money: accepting, refunding, topping up, revoking a
-- key. The balance is the sum of the account's ledger.
create table accounts (
  account_id      uuid             primary key,
  name            text             not null,
  default_sender  text,
  balance         bigint           not null default 0,
  ledger_seq      bigint           not null default 0,
  -- How many messages may be sent at once, as of send_tokens_at; null means a full allowance.
  send_tokens     double precision,
  send_tokens_at  timestamptz,
  low_credits     bigint           not null default 100,
  version         integer          not null default 1,
  created_at      timestamptz      not null,

  constraint balance_is_never_negative check (balance >= 0)
) with (fillfactor = 50);

create table keys (
  key_id      uuid        primary key,
  account_id  uuid        not null references accounts,
  name        text        not null,
  hash        bytea       not null,
  -- The first 8 characters, for the masked form. The rest is stored nowhere.
  prefix      text        not null,
  scopes      text[]      not null,
  created_at  timestamptz not null,
  created_by  text        not null,
  expires_at  timestamptz,
  revoked_at  timestamptz,
  -- The account's ledger_seq at revocation: no later charge may carry this key, whatever the clocks say.
  revoked_seq bigint,

  constraint key_name_has_1_to_60_characters check (char_length(name) between 1 and 60),
  constraint key_has_known_scopes check (
    cardinality(scopes) > 0 and scopes <@ array['messages:send', 'messages:read']
  )
);
create unique index key_hash_is_unique on keys (hash);
create index keys_of_account on keys (account_id, key_id);

-- Separate from `keys`, so that noting a use never touches the row that authorizes.
create table key_usage (
  key_id       uuid        primary key references keys,
  last_used_at timestamptz not null
);

-- How much each key may still read at once. Unlogged: after a crash every allowance is full.
create unlogged table read_allowances (
  key_id    uuid             primary key,
  tokens    double precision not null,
  tokens_at timestamptz      not null,
  -- Reads that the last batch asked for, and how many of them were granted.
  asked     integer          not null,
  granted   integer          not null
) with (fillfactor = 50);

-- At most two are valid: the one that signs, and the previous one until not_after.
create table signing_secrets (
  account_id uuid        not null references accounts,
  version    integer     not null,
  sealed     bytea       not null,
  created_at timestamptz not null,
  not_after  timestamptz,

  primary key (account_id, version)
);
create unique index one_secret_signs on signing_secrets (account_id) where not_after is null;

-- A known word, sealed with the first SECRET_KEY that was used. Every other key is checked against it.
create table key_proof (
  is_only boolean primary key default true check (is_only),
  sealed  bytea   not null
);

-- Every change of a key, secret, role, credit or setting: who, what, when. Never a secret.
create table audit_log (
  audit_id   uuid        primary key,
  at         timestamptz not null,
  account_id uuid,
  actor      text        not null,
  action     text        not null,
  object_id  text,
  details    jsonb       not null default '{}',
  address    text,
  request_id text
);
create index audit_log_of_account on audit_log (account_id, audit_id);
create index audit_log_of_object on audit_log (object_id, audit_id);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name;
end $$;

create trigger audit_log_is_append_only before update or delete on audit_log
  for each row execute function refuse_change();

-- The smallest UUIDv7 of a moment.
create function id_floor(at timestamptz) returns uuid
  language sql immutable parallel safe
  return (lpad(to_hex(greatest(0, floor(extract(epoch from at) * 1000))::bigint), 12, '0')
          || '00000000000000000000')::uuid;
