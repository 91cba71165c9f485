-- The dashboard: who may sign in, what they are members of, and their sessions, links and forms.

create table users (
  user_id          uuid        primary key,
  -- In lower case, trimmed.
  email            text        not null,
  name             text        not null,
  -- argon2id, as a PHC string.
  password         text        not null,
  is_operator      boolean     not null default false,
  -- The seed of the second factor, sealed. A pending seed waits for its first code.
  totp             bytea,
  totp_pending     bytea,
  -- The last time step whose code was accepted, so that no code works twice.
  totp_step        bigint      not null default 0,
  preferences      jsonb       not null default '{}',
  version          integer     not null default 1,
  created_at       timestamptz not null,
  last_seen_at     timestamptz
);
create unique index user_email_is_unique on users (email);

-- Ten at a time. A used one is kept until they are renewed, so that it is never issued again.
create table recovery_codes (
  user_id uuid        not null references users,
  hash    bytea       not null,
  used_at timestamptz,

  primary key (user_id, hash)
);

create table memberships (
  account_id uuid        not null references accounts,
  user_id    uuid        not null references users,
  role       text        not null,
  version    integer     not null default 1,
  joined_at  timestamptz not null,

  primary key (account_id, user_id),
  constraint role_is_known check (role in ('viewer', 'developer', 'owner'))
);
create index memberships_of_user on memberships (user_id);

-- A row is a session. Ending a session deletes its row, so nothing can continue it. Neither the token nor the key that
-- signs the cookie is stored here: reading this table does not let anybody sign in.
create table sessions (
  session_id  uuid        primary key,
  token_hash  bytea       not null,
  user_id     uuid        not null references users,
  -- The password was right, but the second factor is still missing.
  is_pending  boolean     not null,
  created_at  timestamptz not null,
  seen_at     timestamptz not null,
  -- When the user last proved who they are.
  proven_at   timestamptz not null,
  address     text,
  user_agent  text
);
create unique index session_token_is_unique on sessions (token_hash);
create index sessions_of_user on sessions (user_id);

-- Whether the session is there. If it is, nobody can end it until the transaction ends.
create function hold_session(session uuid) returns boolean language plpgsql as $$
begin
  perform from sessions s where s.session_id = session for key share;
  return found;
end $$;

-- Sign-in attempts, counted before they are judged, so that a hundred at once count as a hundred. Unlogged: after a
-- crash everybody starts over.
create unlogged table sign_in_tries (
  -- user:<hash of e-mail>, factor:<user id>, proof:<user id>, address:<network>
  subject       text             primary key,
  tries         double precision not null,
  at            timestamptz      not null,
  blocked_until timestamptz      not null
);

-- Links that work once: set-up, invitation, reset. Their tokens are stored nowhere.
create table links (
  link_id      uuid        primary key,
  kind         text        not null,
  token_hash   bytea       not null,
  created_at   timestamptz not null,
  created_by   text        not null,
  expires_at   timestamptz not null,
  -- For an invitation.
  account_id   uuid        references accounts,
  role         text,
  -- What its creator calls the invited person.
  for_whom     text,
  -- For a reset.
  user_id      uuid        references users,
  drops_second_factor boolean not null default false,
  used_at      timestamptz,
  withdrawn_at timestamptz,

  constraint link_kind_is_known check (kind in ('setup', 'invitation', 'reset')),
  constraint invitations_name_account_and_role check (
    (kind = 'invitation') = (account_id is not null and role is not null)
  ),
  constraint only_invitations_are_for_whom check (kind = 'invitation' or for_whom is null),
  constraint resets_name_a_user check ((kind = 'reset') = (user_id is not null)),
  constraint only_resets_drop_a_second_factor check (kind = 'reset' or not drops_second_factor)
);
create unique index link_token_is_unique on links (token_hash);
create index links_of_account on links (account_id) where account_id is not null;

-- The row exists once there is an operator. If several finish the set-up at once, only one inserts it.
create table installation (
  only_row     boolean     primary key default true check (only_row),
  completed_at timestamptz not null
);

-- A form that is sent twice does its work once. Keys are deleted after 24 hours.
create table form_keys (
  user_id    uuid        not null,
  key        text        not null,
  operation  text        not null,
  created_at timestamptz not null,

  primary key (user_id, key)
);
create index form_keys_by_age on form_keys (created_at);
