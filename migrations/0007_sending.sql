-- Sending: which node does what, claiming what is due, and recording what became of it.

-- One row per process. A process that was silent for the length of a lease is gone.
create table nodes (
  node_id    uuid        primary key,
  roles      text[]      not null,
  host       text        not null,
  pid        integer     not null,
  version    text        not null,
  started_at timestamptz not null,
  heard_at   timestamptz not null
);

-- Which node may open which bind of a carrier. Together they open no more than the carrier allows.
create table bind_leases (
  carrier_id   uuid        not null,
  slot         smallint    not null,
  node_id      uuid        not null,
  leased_until timestamptz not null,
  primary key (carrier_id, slot)
);

-- What each node last saw of its carriers, for display by other nodes.
create table carrier_states (
  carrier_id uuid        not null,
  node_id    uuid        not null,
  state      jsonb       not null,
  at         timestamptz not null,
  primary key (carrier_id, node_id)
);

-- Leases messages that are due for a carrier to a node: at most `room`, shared evenly between the waiting accounts,
-- starting after account `after`, and each account's oldest first. A message returned with was_leased was leased to a
-- node when its lease expired: it is in doubt. Looks at no more than 500 accounts, due or not. If it reached that many,
-- a row without a message names the last of them, and there may be more.
create function claim_sends(carrier uuid, node uuid, lease interval, room integer, after uuid)
returns table (message_id uuid, account_id uuid, lease_epoch integer, attempt smallint, was_leased boolean)
language plpgsql
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
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
end $$;

-- Stores the outcomes of hand-overs. Only the holder of the lease changes the queue; if another node has claimed the
-- message since, the outcome is just history. As a node may have claimed it twice, the epoch counts too. Returns the
-- messages whose lease is held, with their epochs. Their queue rows stay locked until the end.
-- step: `sent` and `failed` leave the queue; `again` is due after delay_ms at the given carrier, or at once and in its
-- old place if the delay is 0; null means that further segments follow.
create function record_submissions(
  node uuid,
  s_message uuid[], s_account uuid[], s_epoch integer[], s_segment smallint[], s_turn integer[], s_is_whole boolean[], s_carrier uuid[],
  s_at timestamptz[], s_outcome text[], s_carrier_message_id text[], s_match_id text[], s_carrier_code text[], s_error_code text[],
  s_in_doubt_at timestamptz[], s_doubt_reason text[], s_doubt_action text[],
  s_step text[], s_delay_ms integer[], s_next_carrier uuid[]
) returns table (message_id uuid, lease_epoch integer) language plpgsql
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
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
end $$;
