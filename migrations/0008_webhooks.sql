-- Webhooks: attempts, the state of receivers, replays, and those who follow events.

-- The id of a status change: its message's id with the sequence as the last digit. Receivers know it as `webhook-id`.
create function event_id(message_id uuid, sequence smallint) returns uuid
  language sql immutable parallel safe
  return (left(message_id::text, 35) || to_hex(sequence::integer))::uuid;

-- One row per POST, also if it was interrupted, and per delivery that ended without one. Partitioned by day, so that
-- retention drops days.
create table webhook_attempts (
  account_id     uuid        not null,
  message_id     uuid        not null,
  sequence       smallint    not null,
  -- Counts every POST of this event, including replays.
  attempt        smallint    not null,
  at             timestamptz not null,
  replay_id      uuid,
  -- Earlier failures that advanced the delivery in the retry schedule.
  step           smallint    not null,
  http_status    smallint,
  -- Null for a success.
  error_class    text,
  -- Details for people.
  error          text,
  dns_ms         real,
  connect_ms     real,
  tls_ms         real,
  first_byte_ms  real,
  total_ms       real        not null,
  address        text,
  answer_headers json,
  answer         bytea,
  -- How this attempt ended the delivery; null if more attempts were to follow.
  ended          text,

  primary key (account_id, message_id, sequence, attempt, at),
  constraint ended_is_known check (ended in ('delivered', 'exhausted', 'gone', 'forbidden'))
) partition by range (at);
-- For finding and replaying the few that ended badly. Delivered ones are not in this index.
create index webhook_attempts_undelivered on webhook_attempts (account_id, message_id, sequence)
  where ended in ('exhausted', 'gone', 'forbidden');
create index webhook_attempts_replayed on webhook_attempts (replay_id) where replay_id is not null;

-- Makes missing partitions for the days around a moment, and drops those older than `keep`. Recording attempts waits
-- for its locks, and they wait for readers. So it waits only briefly, and leaves what is in use for the next time. It
-- also drops only the ten oldest: dropping a year, after retention was set to a month, would take longer than a
-- statement may. Returns how many were dropped.
create function keep_attempt_partitions(around timestamptz, keep interval) returns integer language plpgsql
set lock_timeout = '200ms'
as $$
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
end $$;
select keep_attempt_partitions(now(), interval '30 days');

-- How well each receiver of each account works, for display and for nodes that start.
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

-- A request to deliver again. A bulk replay goes through exhausted deliveries page by page, and continues after a
-- crash: after_message and after_sequence say how far it has come.
create table webhook_replays (
  replay_id       uuid        primary key,
  account_id      uuid        not null,
  actor           text        not null,
  idempotency_key text,
  -- Of the request: a different request must not get this one's answer.
  fingerprint     bytea       not null,
  created_at      timestamptz not null,
  -- How many deliveries it found.
  total           integer     not null,
  -- How many deliveries it has queued so far.
  queued          integer     not null default 0,
  -- For a bulk replay: covers what was exhausted from then on, up to created_at.
  since           timestamptz,
  after_message   uuid,
  after_sequence  smallint,
  finished_at     timestamptz,
  canceled_at     timestamptz
);
create unique index replay_key_is_used_once on webhook_replays (account_id, idempotency_key)
  where idempotency_key is not null;
create index webhook_replays_unfinished on webhook_replays (replay_id) where finished_at is null;

-- How many test events an account may still send. Unlogged: after a crash every allowance is full.
create unlogged table webhook_test_allowances (
  account_id uuid             primary key,
  tokens     double precision not null,
  at         timestamptz      not null
);

-- Accounts for which a test event, or an event that somebody listened to, has arrived.
create table tried_webhooks (
  account_id uuid primary key
);

-- The accounts whose events somebody follows now, and the events for them. Nothing is written for an account that
-- nobody follows.
create table followers (
  account_id uuid        primary key,
  until      timestamptz not null
);
-- Positions are assigned before the commit, so the row of a slow transaction appears behind later ones. Readers
-- therefore take what their snapshot sees and the previous one did not.
create table followed_events (
  position   bigint      generated always as identity primary key,
  xid        xid8        not null default pg_current_xact_id(),
  account_id uuid        not null,
  message_id uuid        not null,
  sequence   smallint    not null,
  at         timestamptz not null default clock_timestamp()
);
create index followed_events_by_transaction on followed_events (xid);
