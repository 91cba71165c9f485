-- Accepting: one call stores, charges and queues a batch of requests.

-- A request (a group) is one message or a batch that is accepted whole or not at all. Groups are judged in the given
-- order. One that is refused leaves no trace and does not affect the others.
--
-- The first statement locks the accounts in the order of their ids, so batches neither overspend nor deadlock. The next
-- one has a fresh snapshot: it sees every revocation, repetition and change of routing that was committed before the
-- lock was granted, whatever the node remembers.
--
-- Plans must not follow the statistics, here and in the functions that move, send and deliver. A queue may be empty
-- when they are taken and long a minute later, and a plan for an empty one reads the long one whole, once for each row
-- of a batch. So only one way to join is left: from the rows of the batch to an index. The others are switched off. The
-- first column of a key is compared as an array of one, because from an equality the planner also derives the opposite
-- way, from the whole index to the batch. If there is no other way, a switched-off one seems very expensive, and
-- expensive plans are compiled on every call, which takes seconds for a batch. So jit is off.
create function accept_messages(
  -- The node whose sender takes the messages marked m_leased right after the commit.
  node uuid, lease interval, send_rate double precision, send_burst double precision,
  -- g_first is the first group of this call with the same idempotency key, or the group itself if it has none.
  -- g_session is that of a user who sends from the dashboard.
  g_account uuid[], g_key uuid[], g_session uuid[], g_routing bigint[], g_idempotency_key text[],
  g_fingerprint bytea[], g_first integer[], g_count integer[], g_credits bigint[],
  -- m_place counts the messages of a group from 1; m_total sums their credits up to this one.
  m_group integer[], m_place integer[], m_total bigint[], m_id uuid[], m_recipient text[], m_sender text[],
  m_text text[], m_encoding text[], m_segments smallint[], m_credits bigint[], m_reference text[], m_metadata text[],
  m_callback_url text[], m_concat_reference smallint[], m_carrier uuid[], m_created_at timestamptz[],
  m_send_at timestamptz[], m_expires_at timestamptz[], m_leased boolean[]
) returns table (
  n integer, outcome text, available bigint, tokens double precision, message_ids uuid[], default_sender text
) language plpgsql
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  moment          timestamptz;
  current_routing bigint;
  is_watched      boolean;
  r               record;
  -- The current account, after the groups that were judged so far.
  account         uuid;
  purse           bigint;
  bucket          double precision;
  entries         bigint;
  -- For each accepted group: the ledger before it, and the account's default sender.
  g_accepted      boolean[] := array_fill(false, array[cardinality(g_account)]);
  g_entries       bigint[]  := array_fill(0::bigint, array[cardinality(g_account)]);
  g_purse         bigint[]  := array_fill(0::bigint, array[cardinality(g_account)]);
  g_sender        text[]    := array_fill(null::text, array[cardinality(g_account)]);
  -- For each first group: whether it, or a repetition of its key, was accepted.
  g_taken         boolean[] := array_fill(false, array[cardinality(g_account)]);
  -- For each charged account: what it is left with.
  charged         integer := 0;
  c_account       uuid[] := '{}';
  c_purse         bigint[] := '{}';
  c_bucket        double precision[] := '{}';
  c_entries       bigint[] := '{}';
begin
  perform from accounts a where a.account_id = any (g_account) order by a.account_id for no key update;
  -- Read after the locks were granted, so that moments follow the order of the locks: time spent waiting never fills an
  -- allowance twice, and a key that expired meanwhile is seen.
  moment := clock_timestamp();

  select v.version, exists (select from watched_accounts w where w.until > moment)
    into current_routing, is_watched
    from routing_version v;

  for r in
    select g.n::integer as n, g.account_id, g.key_id, g.first, g.count, g.credits,
           k.key_id is null or k.revoked_at is not null as is_revoked,
           k.expires_at <= moment as is_expired, g.routing <> current_routing as is_stale,
           i.fingerprint = g.fingerprint as is_repeated, i.message_ids,
           a.balance, a.ledger_seq, a.default_sender, a.send_tokens_at > moment as is_ahead,
           least(send_burst, coalesce(
             a.send_tokens + send_rate * greatest(0, extract(epoch from moment - a.send_tokens_at)), send_burst
           )) as tokens
      from unnest(g_account, g_key, g_routing, g_idempotency_key, g_fingerprint, g_first, g_count, g_credits)
           with ordinality as g (account_id, key_id, routing, idempotency_key, fingerprint, first, count, credits, n)
      join accounts a on a.account_id = any (array[g.account_id])
      left join keys k on k.key_id = any (array[g.key_id]) and k.account_id = g.account_id
      left join idempotency i on i.account_id = any (array[g.account_id]) and i.key = g.idempotency_key
     order by g.account_id, g.n
  loop
    if account is distinct from r.account_id then
      account := r.account_id;
      purse := r.balance;
      bucket := r.tokens;
      entries := r.ledger_seq;
    end if;
    n := r.n;
    message_ids := null;
    default_sender := r.default_sender;
    outcome := case
      when r.key_id is not null and r.is_revoked then 'key_revoked'
      when r.key_id is not null and r.is_expired then 'key_expired'
      when g_session[r.n] is not null and not hold_session(g_session[r.n]) then 'session_ended'
      when r.is_repeated then 'replayed'
      when not r.is_repeated then 'key_reused'
      -- The first accepted group with a key decides. Repetitions in this call ask again, and then see its record.
      when g_taken[r.first] then 'again'
      when r.is_stale then 'routing_changed'
      -- A batch larger than the whole allowance passes if the allowance is full, and leaves a debt.
      when r.count > bucket and bucket < send_burst then 'rate_limited'
      when r.credits > purse then 'credits_insufficient'
      else 'accepted'
    end;
    if outcome = 'accepted' then
      g_accepted[n] := true;
      g_taken[r.first] := true;
      g_entries[n] := entries;
      g_purse[n] := purse;
      g_sender[n] := default_sender;
      purse := purse - r.credits;
      bucket := bucket - r.count;
      entries := entries + r.count;
      if charged = 0 or c_account[charged] <> account then
        charged := charged + 1;
        c_account[charged] := account;
      end if;
      c_purse[charged] := purse;
      c_bucket[charged] := bucket;
      c_entries[charged] := entries;
    elsif outcome = 'replayed' then
      message_ids := r.message_ids;
    elsif outcome = 'rate_limited' and r.is_ahead then
      -- The clock was set back: without this, the allowance would not grow until that time is reached again.
      update accounts a set send_tokens_at = moment where a.account_id = account and a.send_tokens_at > moment;
    end if;
    available := purse;
    tokens := bucket;
    return next;
  end loop;

  if charged = 0 then
    return;
  end if;

  with m as materialized (
    select u.*, g_account[u.g] as account_id, g_key[u.g] as key_id
      from unnest(m_group, m_place, m_total, m_id, m_recipient, m_sender, m_text, m_encoding, m_segments, m_credits,
                  m_reference, m_metadata, m_callback_url, m_concat_reference, m_carrier, m_created_at, m_send_at,
                  m_expires_at, m_leased)
           as u (g, place, total, id, recipient, sender, text, encoding, segments, credits,
                 reference, metadata, callback_url, concat_reference, carrier_id, created_at, send_at,
                 expires_at, leased)
     where g_accepted[u.g]
  ), entered as (
    insert into ledger (account_id, seq, message_id, kind, amount, balance_after, created_at)
    select m.account_id, g_entries[m.g] + m.place, m.id, 'charge', -m.credits, g_purse[m.g] - m.total, m.created_at
      from m
  ), stored as (
    insert into messages (account_id, message_id, key_id, recipient, sender, text, encoding, segments, credits,
                          status, reference, metadata, callback_url, concat_reference, carrier_id, created_at,
                          send_at, expires_at)
    select m.account_id, m.id, m.key_id, m.recipient, coalesce(m.sender, g_sender[m.g]), m.text, m.encoding,
           m.segments, m.credits, 'QUEUED', m.reference, m.metadata, m.callback_url, m.concat_reference,
           m.carrier_id, m.created_at, m.send_at, m.expires_at
      from m
  ), queued as (
    insert into send_queue (message_id, account_id, carrier_id, due_at, placed_at, expires_at, leased_by,
                            lease_epoch, attempt)
    select m.id, m.account_id, m.carrier_id,
           case when m.leased then moment + lease else coalesce(m.send_at, moment) end,
           coalesce(m.send_at, moment), m.expires_at,
           case when m.leased then node end, m.leased::integer, m.leased::integer
      from m
  ), tallied as (
    insert into stat_changes (account_id, changes)
    select m.account_id, array[(date_bin('1 minute', m.created_at, 'epoch'), null, 'QUEUED', null, null,
                                count(*), sum(m.credits))::stat_change]
      from m
     group by m.account_id, date_bin('1 minute', m.created_at, 'epoch')
  )
  update accounts a
     set balance = c.purse, ledger_seq = c.entries, send_tokens = c.bucket, send_tokens_at = moment
    from unnest(c_account, c_purse, c_entries, c_bucket) as c (account_id, purse, entries, bucket)
   where a.account_id = any (array[c.account_id]);

  if cardinality(array_remove(g_idempotency_key, null)) > 0 then
    insert into idempotency (account_id, key, fingerprint, message_ids, created_at)
    select g_account[m.g], g_idempotency_key[m.g], g_fingerprint[m.g], array_agg(m.id order by m.place), moment
      from unnest(m_group, m_place, m_id) as m (g, place, id)
     where g_accepted[m.g] and g_idempotency_key[m.g] is not null
     group by m.g;
  end if;

  if is_watched then
    insert into watched_changes (account_id, kind, ids, versions, is_charged)
    select w.account_id, 'message', array_agg(m.id::text), array_agg(1::smallint), true
      from unnest(m_group, m_id) as m (g, id)
      join watched_accounts w on w.account_id = any (array[g_account[m.g]]) and w.until > moment
     where g_accepted[m.g]
     group by w.account_id;
  end if;

  -- Sent at once; the rows leave only after the commit, beside which the next batch is stored.
  raise notice 'stored';
end $$;
