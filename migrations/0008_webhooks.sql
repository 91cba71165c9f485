-- Webhooks: attempts, the state of receivers, replays, and those who follow events.

-- The id of a status change: its message's id with the sequence as last digit. Receivers know it as
-- `webhook-id`.
create function event_id(message_id uuid, sequence smallint) returns uuid
  language sql immutable parallel safe
  return (left(message_id::text, 35) || to_hex(sequence::integer))::uuid;

-- One row per POST, per one that was interrupted, and per delivery that ended without one.
-- Partitioned by day; retention drops days.
create table webhook_attempts (
  account_id     uuid        not null,
  message_id     uuid        not null,
  sequence       smallint    not null,
  -- Counts every POST of this event, replays included.
  attempt        smallint    not null,
  at             timestamptz not null,
  replay_id      uuid,
  -- Failures before this one that took a step of the schedule.
  step           smallint    not null,
  http_status    smallint,
  -- Null for a success.
  error_class    text,
  -- The particulars, for people.
  error          text,
  dns_ms         real,
  connect_ms     real,
  tls_ms         real,
  first_byte_ms  real,
  total_ms       real        not null,
  address        text,
  answer_headers json,
  answer         bytea,
  -- How this attempt ended its delivery; null where more were to come.
  ended          text,

  primary key (account_id, message_id, sequence, attempt, at),
  constraint ended_is_known check (ended in ('delivered', 'exhausted', 'gone', 'forbidden'))
) partition by range (at);
-- The few that ended badly are looked for and replayed; those that were delivered are not in here.
create index webhook_attempts_undelivered on webhook_attempts (account_id, message_id, sequence)
  where ended in ('exhausted', 'gone', 'forbidden');
create index webhook_attempts_replayed on webhook_attempts (replay_id) where replay_id is not null;

-- Makes the days around a moment, where they are missing, and drops those older than `keep`.
-- Whoever records attempts waits behind its locks, and they behind who reads: so it hardly waits, and
-- what is in use is made or dropped the next time. So are all but the ten oldest: those of a year, after
-- it was set to a month, would take longer than a statement may. Answers how many were dropped.
create function keep_attempt_partitions(around timestamptz, keep interval) returns integer language plpgsql
set lock_timeout = '200ms'
as $$
declare
  day     date;
  name    text;
  dropped integer := 0;
begin
  -- One node at a time; the others wait for it, no longer than for any lock, and find it done.
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
        -- Nobody made the day in time, and its rows went to the default partition: there they stay.
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
end $$;
select keep_attempt_partitions(now(), interval '30 days');

-- How each receiver of each account has been doing; for people to look at, and for nodes that start.
create table webhook_hosts (
  account_id uuid        not null,
  host_key   bigint      not null,
  origin     text        not null,
  health     text        not null,
  since      timestamptz not null,
  p95_ms     real,
  last_at    timestamptz not null,
  last_ok_at timestamptz,

  primary key (account_id, host_key)
);
-- Attempts per hour, kept for a day.
create table webhook_host_hours (
  account_id uuid        not null,
  host_key   bigint      not null,
  hour       timestamptz not null,
  ok         bigint      not null,
  failed     bigint      not null,

  primary key (account_id, host_key, hour)
);

-- A wish to deliver again. A bulk one goes through what was exhausted, page by page, also after a
-- crash: after_message and after_sequence say how far it is.
create table webhook_replays (
  replay_id       uuid        primary key,
  account_id      uuid        not null,
  actor           text        not null,
  idempotency_key text,
  -- Of what was wished for: another wish must not be answered with this one.
  fingerprint     bytea       not null,
  created_at      timestamptz not null,
  -- How many deliveries it found.
  total           integer     not null,
  -- How many it has put among those to deliver.
  queued          integer     not null default 0,
  -- Of a bulk replay: what was exhausted from then on, up to created_at.
  since           timestamptz,
  after_message   uuid,
  after_sequence  smallint,
  finished_at     timestamptz,
  canceled_at     timestamptz
);
create unique index replay_key_is_used_once on webhook_replays (account_id, idempotency_key)
  where idempotency_key is not null;
create index webhook_replays_unfinished on webhook_replays (replay_id) where finished_at is null;

-- How many test events an account may still send. Not logged: after a crash every allowance is full.
create unlogged table webhook_test_allowances (
  account_id uuid             primary key,
  tokens     double precision not null,
  at         timestamptz      not null
);

-- Accounts of which a test event has arrived, or an event that somebody listened to.
create table tried_webhooks (
  account_id uuid primary key
);

-- Who follows an account's events now, and what it has to see. Nothing is written here for an
-- account that nobody follows.
create table followers (
  account_id uuid        primary key,
  until      timestamptz not null
);
-- Positions are given out before the commit, so a slow transaction's row appears behind a later one:
-- whoever reads goes by what its snapshot sees and the one before it did not.
create table followed_events (
  position   bigint      generated always as identity primary key,
  xid        xid8        not null default pg_current_xact_id(),
  account_id uuid        not null,
  message_id uuid        not null,
  sequence   smallint    not null,
  at         timestamptz not null default clock_timestamp()
);
create index followed_events_by_transaction on followed_events (xid);
