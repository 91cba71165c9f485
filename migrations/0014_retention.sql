-- Retention: dropping months of messages, redacting their texts, and knowing how far partitions reach.

-- The end of the time that partitions cover. Later rows go to the default partition.
create function partitions_until(parent regclass) returns timestamptz language sql stable as $$
  select max(case
           when c.relname ~ '_\d{4}_\d\d_\d\d$' then to_date(right(c.relname, 10), 'YYYY_MM_DD') + interval '1 day'
           when c.relname ~ '_\d{4}_\d\d$' then to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month'
         end) at time zone 'UTC'
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
   where i.inhparent = parent
$$;

-- The state of partitioned tables: how far they reach, and whether rows are outside their partitions.
create function partition_health() returns table (parent text, until timestamptz, has_strays boolean)
language sql stable as $$
  values ('messages', partitions_until('messages'), exists (select from messages_other)),
         ('events', partitions_until('events'), exists (select from events_other)),
         ('submissions', partitions_until('submissions'), exists (select from submissions_other)),
         ('webhook_attempts', partitions_until('webhook_attempts'), exists (select from webhook_attempts_other))
$$;

-- The time from which all webhook attempts exist. Earlier days have been dropped.
create function attempts_kept_since() returns timestamptz language sql stable as $$
  select min(to_date(right(c.relname, 10), 'YYYY_MM_DD'))::timestamp at time zone 'UTC'
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
   where i.inhparent = 'webhook_attempts'::regclass and c.relname ~ '_\d{4}_\d\d_\d\d$'
$$;

-- Drops the oldest month of messages with its events and submissions, if it ended longer ago than `keep` and no message
-- of it, or older, is still to be sent or has webhooks to deliver. So what is kept never has a hole, and the ledger,
-- which is kept whole, agrees with it from the first kept message on. Returns the month, or null if there was nothing
-- to drop, or not now.
create function drop_oldest_messages(keep interval) returns text language plpgsql as $$
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
end $$;

-- How far redaction has come: texts of messages accepted before `done_until` are gone.
create table redaction (
  only_row   boolean     primary key default true check (only_row),
  done_until timestamptz not null,
  -- The span in progress, and the last message of it that was looked at.
  until      timestamptz,
  account_id uuid        not null,
  message_id uuid        not null
);
insert into redaction (done_until, account_id, message_id)
values ('epoch', '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000');

-- Messages that still waited to be sent when redaction reached them. Their texts are redacted once they have ended.
create table redactions_due (
  look_at    timestamptz not null,
  account_id uuid        not null,
  message_id uuid        not null,
  primary key (look_at, message_id)
);

-- Redacts the texts of messages older than `age`, about `most` at a time; false means that none is left. Goes through
-- the accounts along the primary key, and remembers where it stopped. Locks messages of one account at a time in the
-- order of their ids, as everything does.
create function redact_texts(age interval, most integer) returns boolean language plpgsql as $$
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
end $$;
