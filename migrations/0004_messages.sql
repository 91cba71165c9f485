-- Messages, the queue of those still to send, their history, and the functions that move them.

-- Partitioned by month of acceptance (the time is in the id), so that retention can drop partitions. No index mentions
-- status, so its updates stay within their page. No foreign keys: they would make dropping a partition a scan, and each
-- insert a lookup.
create table messages (
  account_id         uuid        not null,
  message_id         uuid        not null,
  -- Null if a user sent it from the dashboard or the terminal.
  key_id             uuid,
  recipient          text        not null,
  sender             text,
  text               text        not null,
  encoding           text        not null,
  segments           smallint    not null,
  credits            bigint      not null,
  status             text        not null,
  -- The number of the last status change; QUEUED is 1.
  sequence           smallint    not null default 1,
  reference          text,
  metadata           text,
  callback_url       text,
  -- 0 to 255, counted per recipient by the node. Handsets join segments by it.
  concat_reference   smallint    not null default 0,
  carrier_id         uuid,
  error_code         text,
  error_carrier_code text,
  created_at         timestamptz not null,
  send_at            timestamptz,
  expires_at         timestamptz not null,
  sent_at            timestamptz,
  -- When it became DELIVERED, UNDELIVERED or FAILED.
  final_at           timestamptz,

  primary key (account_id, message_id)
) partition by range (message_id);

-- The column is never null. The condition keeps queries that name no recipient from using this index: while a table is
-- empty, its statistics make every index with the id look as good as the primary key.
create index messages_by_recipient on messages (account_id, recipient, message_id) where recipient is not null;
create index messages_by_reference on messages (account_id, reference, message_id) where reference is not null;

-- A row is a message still to send. A lease sets due_at to its own end, so that what a dead node held becomes due again
-- by itself.
create table send_queue (
  message_id  uuid        primary key,
  account_id  uuid        not null,
  carrier_id  uuid        not null,
  due_at      timestamptz not null,
  -- Its place in the order: the original due_at. A message that goes back without a delay goes back here.
  placed_at   timestamptz not null default clock_timestamp(),
  expires_at  timestamptz not null,
  -- The node that may be writing it to a carrier now. Set before the first byte is sent.
  leased_by   uuid,
  lease_epoch integer     not null default 0,
  attempt     smallint    not null default 0
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
-- Includes the id, because all messages of a batch are due at the same moment. The condition works as above: only
-- queries that name carriers can use this index.
create index send_queue_in_turn on send_queue (carrier_id, account_id, due_at, message_id) where carrier_id is not null;
create index send_queue_by_expiry on send_queue (expires_at);

-- Every status change after QUEUED, with the exact bytes of its webhook. Its id is the message's id with the sequence
-- as the last digit.
create table events (
  message_id   uuid        not null,
  sequence     smallint    not null,
  account_id   uuid        not null,
  status       text        not null,
  at           timestamptz not null,
  callback_url text,
  body         bytea,

  primary key (message_id, sequence),
  constraint body_and_address_go_together check ((body is null) = (callback_url is null))
) partition by range (message_id);

-- Retention may delete events, but nothing may change them.
create trigger events_are_never_changed before update on events
  for each row execute function refuse_change();

-- One row per hand-over of a segment to a carrier, with the receipts that arrived for it.
create table submissions (
  message_id         uuid        not null,
  segment            smallint    not null,
  -- Counts the hand-overs of this segment from 1.
  turn               integer     not null,
  -- Whether it carried a message of several segments in one piece. Such a message has only segment 1.
  is_whole           boolean     not null default false,
  account_id         uuid        not null,
  carrier_id         uuid        not null,
  at                 timestamptz not null,
  -- Null while the hand-over is in doubt.
  outcome            text,
  -- When the outcome arrived, if a doubt was recorded before it; otherwise null, as `at` says it.
  answered_at        timestamptz,
  carrier_message_id text,
  -- The same id in the form that receipts are compared with, according to the carrier's id rule.
  match_id           text,
  carrier_code       text,
  -- What a refusal means for the message, as one of our error codes.
  error_code         text,
  in_doubt_at        timestamptz,
  doubt_reason       text,
  doubt_action       text,
  -- The effect of the receipt that counted, which is the first: delivered, undelivered or rejected.
  receipt_effect     text,
  -- [{at, state, carrierCode, applied, error}] in order of arrival; error if the segment is lost by it.
  receipts           jsonb,

  primary key (message_id, segment, turn),
  constraint outcome_is_known check (outcome in ('accepted', 'refused_temporarily', 'refused', 'unsent')),
  constraint either_answered_or_in_doubt check (outcome is not null or in_doubt_at is not null)
) partition by range (message_id);
-- Includes the time, because a carrier may give one id to very many: the newest are found without reading the others.
create index submissions_by_match_id on submissions (carrier_id, match_id, at) where match_id is not null;

-- Receipts that arrived before the answer to their submission was recorded.
create table parked_receipts (
  parked_id          uuid        primary key,
  carrier_id         uuid        not null,
  -- The ids to look for among the match_ids of submissions.
  match_ids          text[]      not null,
  receipt            jsonb       not null,
  raw                bytea,
  at                 timestamptz not null,
  -- When it was parked, by the clock that all nodes share.
  parked_at          timestamptz not null default clock_timestamp(),
  -- Submissions before this are not meant, because the carrier has reused the id.
  since              timestamptz not null default '-infinity',
  -- The last digits of its recipient, if submissions to others have its id: it waits for one to this recipient.
  recipient_end      text
);
-- No fastupdate: entries that GIN has not sorted in yet are compared with every id that is looked for.
create index parked_receipts_by_match_id on parked_receipts using gin (match_ids) with (fastupdate = off);

-- Written in the transaction that charges. Deleted after 24 hours.
create table idempotency (
  account_id  uuid        not null,
  key         text        not null,
  fingerprint bytea       not null,
  message_ids uuid[]      not null,
  created_at  timestamptz not null,
  primary key (account_id, key)
);
create index idempotency_by_age on idempotency (created_at);

-- A row is an event that is still to be delivered to its callback address. It is deleted when the delivery has ended,
-- and inserted again by a replay. Leases work as in send_queue.
create table webhook_deliveries (
  message_id   uuid        not null,
  sequence     smallint    not null,
  account_id   uuid        not null,
  -- The lane: one account's deliveries to one host.
  host_key     bigint      not null,
  -- The last replay that moved it forward, or inserted it again.
  replay_id    uuid,
  -- POSTs of the event so far, including replays and the one in progress.
  attempts     smallint    not null default 0,
  -- Failures that advanced it in the retry schedule.
  step         smallint    not null default 0,
  -- Consecutive leases that expired without an outcome.
  interrupted  smallint    not null default 0,
  created_at   timestamptz not null,
  next_at      timestamptz not null,
  leased_until timestamptz,
  lease_epoch  integer     not null default 0,
  is_first     boolean     not null generated always as (attempts = 0) stored,

  primary key (message_id, sequence)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
-- First attempts have their own part, so that finding them costs the same behind a backlog of retries.
create index webhook_deliveries_in_turn on webhook_deliveries (host_key, is_first, next_at);
create index webhook_deliveries_replayed on webhook_deliveries (replay_id) where replay_id is not null;
create index webhook_deliveries_replayed_in_lane on webhook_deliveries (host_key, replay_id)
  where replay_id is not null;
create unique index one_delivery_in_flight_per_message on webhook_deliveries (message_id)
  where leased_until is not null;

-- Makes a table's missing partitions: the month of `around`, the one before and the two after. Making one locks out
-- everybody who uses the table, and waits for everybody who reads it: behind a long reader every request would queue.
-- So it waits only briefly, and is tried again later. Call it for one table per transaction: recording locks several
-- tables, and would deadlock with it.
create function make_partitions(parent text, around timestamptz) returns void language plpgsql
set lock_timeout = '200ms'
as $$
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
end $$;
select make_partitions(parent, now()) from unnest(array['messages', 'events', 'submissions']) parent;
