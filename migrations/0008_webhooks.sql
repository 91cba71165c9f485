-- Webhooks: attempts, the state of receivers, claiming what is due and recording what became of it.

-- One row per POST, and per one that was interrupted. Partitioned by day; retention drops days.
-- The attempt that ended its delivery says so: delivered, exhausted, gone or forbidden.
create table webhook_attempts (
  account_id     uuid        not null,
  message_id     uuid        not null,
  sequence       smallint    not null,
  -- Counts every POST of this event, replays included.
  attempt        smallint    not null,
  at             timestamptz not null,
  delivery_id    uuid        not null,
  replay_id      uuid,
  step           smallint    not null,
  http_status    smallint,
  -- Null for a success.
  error_class    text,
  -- In words, for people.
  error          text,
  dns_ms         real,
  connect_ms     real,
  tls_ms         real,
  first_byte_ms  real,
  total_ms       real        not null,
  address        text,
  answer_headers jsonb,
  answer         bytea,
  ended          text,

  primary key (account_id, message_id, sequence, attempt, at),
  constraint ended_is_known check (ended in ('delivered', 'exhausted', 'gone', 'forbidden'))
) partition by range (at);

-- How each receiver of each account has been doing; for people to look at, nothing decides by it.
create table webhook_hosts (
  host_key   bigint      primary key,
  account_id uuid,
  origin     text        not null,
  health     text        not null,
  since      timestamptz not null,
  ok         bigint      not null,
  failed     bigint      not null,
  p95_ms     real,
  last_ok_at timestamptz
);

create function make_attempt_partitions(around timestamptz) returns void language plpgsql as $$
declare
  day date;
begin
  for day in select (around at time zone 'UTC')::date + n from generate_series(-1, 3) n loop
    execute format(
      'create table if not exists %I partition of webhook_attempts for values from (%L) to (%L)',
      'webhook_attempts' || to_char(day, '_YYYY_MM_DD'), day::text || ' 00:00+00', (day + 1)::text || ' 00:00+00'
    );
  end loop;
  create table if not exists webhook_attempts_other partition of webhook_attempts default;
end $$;
select make_attempt_partitions(now());

-- Lanes with something due, in the order of their keys, beginning after `after`.
create function due_lanes(after bigint, most integer) returns setof bigint language sql stable as $$
  with recursive walk as (
    (select w.host_key, w.next_at, 1 as n
       from webhook_deliveries w
      where w.host_key > after
      order by w.host_key, w.next_at
      limit 1)
    union all
    select next.host_key, next.next_at, w.n + 1
      from walk w
     cross join lateral (
       select d.host_key, d.next_at
         from webhook_deliveries d
        where d.host_key > w.host_key
        order by d.host_key, d.next_at
        limit 1
     ) next
     where w.n < 500
  )
  select host_key from walk where next_at <= clock_timestamp() limit most
$$;

-- Leases deliveries that are due in these lanes, at most as many per lane as are free. Of a message
-- never two at once, and the first attempts of its events in their order. A lease that ran out was
-- somebody's attempt: it is noted as interrupted, takes a number but no step.
create function claim_deliveries(hosts bigint[], free integer[], only_first boolean, lease interval)
returns table (
  delivery_id uuid, message_id uuid, sequence smallint, account_id uuid, host_key bigint, replay_id uuid,
  attempts smallint, step smallint, lease_epoch integer, interrupted smallint, claimed_at timestamptz
) language plpgsql as $$
declare
  moment constant timestamptz := clock_timestamp();
begin
  return query
  with room as (
    select r.host_key, r.free from unnest(hosts, free) as r (host_key, free)
  ), picked as materialized (
    select d.*
      from room r
     cross join lateral (
       select w.delivery_id, w.message_id, w.sequence, w.leased_until
         from webhook_deliveries w
        where w.host_key = r.host_key
          and w.next_at <= moment
          and (w.attempts = 0) = only_first
          and not exists (
                select 1
                  from webhook_deliveries o
                 where o.message_id = w.message_id
                   and o.delivery_id <> w.delivery_id
                   and (o.leased_until is not null
                        or (w.attempts = 0 and o.attempts = 0 and w.replay_id is null and o.sequence < w.sequence))
              )
        order by w.next_at
        limit r.free
          for update of w skip locked
     ) d
  ), one as materialized (
    select distinct on (p.message_id) p.delivery_id, p.leased_until is not null as was_leased
      from picked p
     order by p.message_id, p.sequence
  ), claimed as (
    update webhook_deliveries w
       set leased_until = moment + lease,
           next_at = moment + lease,
           lease_epoch = w.lease_epoch + 1,
           attempts = w.attempts + 1,
           interrupted = case when o.was_leased then w.interrupted + 1 else w.interrupted end
      from one o
     where w.delivery_id = o.delivery_id
    returning w.delivery_id, w.message_id, w.sequence, w.account_id, w.host_key, w.replay_id, w.attempts, w.step,
              w.lease_epoch, w.interrupted, o.was_leased
  ), noted as (
    insert into webhook_attempts (account_id, message_id, sequence, attempt, at, delivery_id, replay_id, step,
                                  error_class, error, total_ms)
    select c.account_id, c.message_id, c.sequence, c.attempts - 1, moment, c.delivery_id, c.replay_id, c.step,
           'interrupted', 'The process that made this attempt ended before its outcome was recorded.', 0
      from claimed c
     where c.was_leased
  )
  select c.delivery_id, c.message_id, c.sequence, c.account_id, c.host_key, c.replay_id, c.attempts, c.step,
         c.lease_epoch, c.interrupted, moment
    from claimed c;
end $$;

-- Stores attempts, and ends or puts off their deliveries where the lease still holds. What somebody
-- else has taken over meanwhile is kept as an attempt alone: the receiver saw it.
-- a_next: ended, again, or put_back where nothing was tried.
create function record_attempts(
  a_account uuid[], a_message uuid[], a_sequence smallint[], a_attempt smallint[], a_at timestamptz[],
  a_delivery uuid[], a_replay uuid[], a_step smallint[], a_status smallint[], a_class text[], a_error text[],
  a_dns real[], a_connect real[], a_tls real[], a_first_byte real[], a_total real[], a_address text[],
  a_headers jsonb[], a_answer bytea[], a_epoch integer[], a_next text[], a_ended text[], a_next_step smallint[],
  a_wait_ms double precision[]
) returns void language plpgsql as $$
begin
  with u as materialized (
    select *
      from unnest(a_account, a_message, a_sequence, a_attempt, a_at, a_delivery, a_replay, a_step, a_status, a_class,
                  a_error, a_dns, a_connect, a_tls, a_first_byte, a_total, a_address, a_headers, a_answer, a_epoch,
                  a_next, a_ended, a_next_step, a_wait_ms)
           as u (account_id, message_id, sequence, attempt, at, delivery_id, replay_id, step, status, class, error,
                 dns, connect, tls, first_byte, total, address, headers, answer, epoch, next, ended, next_step, wait_ms)
  ), finished as (
    delete from webhook_deliveries w
     using u
     where u.next = 'ended' and w.delivery_id = u.delivery_id and w.lease_epoch = u.epoch
    returning w.delivery_id
  ), put_off as (
    update webhook_deliveries w
       set leased_until = null,
           interrupted = 0,
           step = u.next_step,
           attempts = case u.next when 'put_back' then w.attempts - 1 else w.attempts end,
           next_at = clock_timestamp() + make_interval(secs => u.wait_ms / 1000.0)
      from u
     where u.next in ('again', 'put_back') and w.delivery_id = u.delivery_id and w.lease_epoch = u.epoch
    returning w.delivery_id
  )
  insert into webhook_attempts (account_id, message_id, sequence, attempt, at, delivery_id, replay_id, step,
                                http_status, error_class, error, dns_ms, connect_ms, tls_ms, first_byte_ms, total_ms,
                                address, answer_headers, answer, ended)
  select u.account_id, u.message_id, u.sequence, u.attempt, u.at, u.delivery_id, u.replay_id, u.step, u.status,
         u.class, u.error, u.dns, u.connect, u.tls, u.first_byte, u.total, u.address, u.headers, u.answer,
         case when u.delivery_id in (select f.delivery_id from finished f) then u.ended end
    from u
   where u.next <> 'put_back';
end $$;

-- Who follows an account's events now, and what it has to see. Nothing is written here for an
-- account that nobody follows.
create table followers (
  account_id uuid        primary key,
  until      timestamptz not null
);
create table followed_events (
  position   bigint      generated always as identity primary key,
  account_id uuid        not null,
  message_id uuid        not null,
  sequence   smallint    not null,
  at         timestamptz not null
);
