-- Delivering webhooks: claiming what is due and recording what became of it.

-- Walks up to `most` lanes in the order of their keys, starting after `after`. Returns those with something due, and
-- always the last one walked. If fewer than `most` were walked, that was the end.
create function due_lanes(after bigint, most integer)
returns table (host_key bigint, n integer, first_at timestamptz, again_at timestamptz)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
as $$
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
end $$;

-- The newest replay that waits in each of these lanes, if any. "Between" and the order by lane are redundant, but only
-- the index of lanes can serve them: the index of all replays would be read from its end until this lane turns up.
create function newest_replays(hosts bigint[]) returns table (host_key bigint, replay_id uuid)
language sql stable
set jit = off
set enable_seqscan = off
set enable_sort = off
set enable_incremental_sort = off
as $$
  select h.host_key, r.replay_id
    from unnest(hosts) as h (host_key)
   cross join lateral (
     select w.replay_id
       from webhook_deliveries w
      where w.host_key between h.host_key and h.host_key and w.replay_id is not null
      order by w.host_key desc, w.replay_id desc
      limit 1
   ) r;
$$;

-- Leases due deliveries of these lanes, at most as many per lane as `free` says: first attempts, or all others. Never
-- takes two of one message, and takes the first attempts of its events in order. An expired lease was somebody's
-- attempt: it is recorded as interrupted, and counts as an attempt but not as a step. After the third in a row the
-- delivery ends, because it may be what kills the processes that try it.
create function claim_deliveries(hosts bigint[], free integer[], firsts boolean, lease interval)
returns table (
  message_id uuid, sequence smallint, account_id uuid, host_key bigint, replay_id uuid, attempts smallint,
  step smallint, lease_epoch integer, created_at timestamptz, is_poison boolean, was_interrupted boolean,
  claimed_at timestamptz, status text, at timestamptz, url text, body bytea
) language plpgsql
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
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
end $$;

-- Stores attempts, and ends or postpones their deliveries if the lease still holds. If another node has claimed a
-- delivery since, the attempt is still stored, because the receiver saw it. A replay counts lease epochs from 1 again,
-- so the lease is identified by epoch and replay. Repeating the call, because the answer to the first one was lost,
-- changes nothing: the row is no longer leased, and the attempt exists.
-- Whether it is leased is asked inside a case: outside, a plan could read the index of all leased rows.
-- a_next: `ended`, `again`, or `put_back` if nothing was tried.
-- Returns the lanes in which a first attempt can begin now that earlier ones of its message have ended.
create function record_attempts(
  a_account uuid[], a_message uuid[], a_sequence smallint[], a_attempt smallint[], a_at timestamptz[], a_replay uuid[],
  a_step smallint[], a_status smallint[], a_class text[], a_error text[], a_dns real[], a_connect real[], a_tls real[],
  a_first_byte real[], a_total real[], a_address text[], a_headers text[], a_answer bytea[], a_epoch integer[],
  a_next text[], a_ended text[], a_next_step smallint[], a_wait_ms double precision[]
) returns setof bigint language plpgsql
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
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
end $$;

-- Ends deliveries that have waited too long for hosts that are only probed: waiting costs no attempts, so nothing else
-- would end them. Leased ones are left to their holders. In each lane it looks only at those that have been due for
-- longest, `most` first attempts and as many others, because a lane may hold millions. An old one behind them, because
-- it was postponed for long, is found once they are gone.
create function give_up_waiting(hosts bigint[], age interval, most integer) returns integer language plpgsql
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
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
end $$;
