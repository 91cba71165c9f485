-- Statistics: what became of messages, summed per account and span of time, never scanned.

-- Messages of one account, from one batch, that took the same step.
create type stat_change as (
  -- The minute in which the messages were accepted.
  minute  timestamptz,
  -- Null for messages just accepted.
  was     text,
  -- A status; or, by the minute of a webhook attempt: webhook_delivered, webhook_exhausted, webhook_failed.
  now_is  text,
  error   text,
  -- The class of the time to delivery, if they were delivered.
  latency smallint,
  count   integer,
  -- Charged on acceptance, or refunded on failure.
  credits bigint
);

-- One row per batch and account, written by the transaction that changes the statuses. So no counter is contended, and
-- none is wrong. Soon after, rows are added to the sums below and deleted.
create table stat_changes (
  change_id  bigint        generated always as identity primary key,
  account_id uuid          not null,
  changes    stat_change[] not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- The class of a time to delivery. Each is a tenth wider than the one before, so that its middle is within 5 % of
-- everything in it. Uses floating point, because numeric logarithms cost more than the whole batch.
create function latency_class(taken interval) returns smallint
  language sql immutable parallel safe
  return floor(ln(greatest(1::double precision, date_part('epoch', taken) * 1000)) / ln(1.1::double precision))::smallint;

-- For each minute (kept for 48 hours) and quarter of an hour (kept for good) of acceptance: the current statuses of its
-- messages. Quarters, because in every zone a day is a whole number of them.
create table stat_spans (
  account_id  uuid        not null,
  -- 1 or 15 minutes.
  width       smallint    not null,
  start       timestamptz not null,
  queued      bigint      not null,
  sent        bigint      not null,
  delivered   bigint      not null,
  undelivered bigint      not null,
  failed      bigint      not null,
  charged     bigint      not null,
  refunded    bigint      not null,
  -- Deliveries that succeeded or were exhausted, and attempts that failed, by when that happened.
  webhooks_delivered bigint not null,
  webhooks_exhausted bigint not null,
  webhooks_failed    bigint not null,

  primary key (account_id, width, start)
) with (fillfactor = 70);

create table stat_errors (
  account_id uuid        not null,
  width      smallint    not null,
  start      timestamptz not null,
  code       text        not null,
  count      bigint      not null,

  primary key (account_id, width, start, code)
) with (fillfactor = 70);

create table stat_latencies (
  account_id uuid        not null,
  width      smallint    not null,
  start      timestamptz not null,
  class      smallint    not null,
  count      bigint      not null,

  primary key (account_id, width, start, class) include (count)
) with (fillfactor = 70);

-- For deleting old minutes. Quarters are in none of these indexes.
create index stat_spans_of_minutes on stat_spans (start) where width = 1;
create index stat_errors_of_minutes on stat_errors (start) where width = 1;
create index stat_latencies_of_minutes on stat_latencies (start) where width = 1;

-- Adds what batches recorded to the sums. One node at a time; the others find nothing to do.
create function fold_stats(most integer) returns integer language plpgsql as $$
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
end $$;

-- What is not yet added to the sums, in the form of the sums. There are only a few rows at any time.
create function unfolded_stats(account uuid, width integer)
returns table (start timestamptz, was text, now_is text, error text, latency smallint, count integer, credits bigint)
language sql stable as $$
  select date_bin(make_interval(mins => width), c.minute, 'epoch'), c.was, c.now_is, c.error, c.latency, c.count, c.credits
    from stat_changes s
   cross join lateral unnest(s.changes) c
   where s.account_id = account
$$;

-- Records the outcomes of webhook attempts, by the minute of the attempt; one row per batch and account.
create function tally_webhooks(accounts uuid[], ats timestamptz[], errors text[], ends text[]) returns void
language sql as $$
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
$$;
