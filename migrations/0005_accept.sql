-- Accepting: one call stores, charges and queues a batch of requests.

-- A request is one message or one all-or-nothing batch of them (a group). Groups are judged in the
-- order given; one that is refused leaves no trace and the others alone.
--
-- The first statement locks the accounts in the order of their ids, so batches neither overspend nor
-- deadlock. The next one has a fresh snapshot: it sees every revocation, repetition and change of
-- routing that committed before the lock was granted, whatever the node has in its memory.
create function accept_messages(
  -- Whose sender takes the messages marked m_leased right after the commit.
  node uuid, lease interval, send_rate double precision, send_burst double precision,
  g_account uuid[], g_key uuid[], g_routing bigint[], g_idempotency_key text[], g_fingerprint bytea[], g_count integer[], g_credits bigint[],
  m_group integer[], m_account uuid[], m_key uuid[], m_id uuid[], m_recipient text[], m_sender text[], m_text text[],
  m_encoding text[], m_segments smallint[], m_credits bigint[], m_reference text[], m_metadata text[],
  m_callback_url text[], m_concat_reference smallint[], m_carrier uuid[], m_created_at timestamptz[],
  m_send_at timestamptz[], m_expires_at timestamptz[], m_leased boolean[]
) returns table (
  n integer, outcome text, available bigint, tokens double precision, message_ids uuid[], default_sender text
) language plpgsql as $$
declare
  moment   timestamptz;
  current_routing bigint;
  account  uuid;
  purse    bigint;
  bucket   double precision;
  accepted boolean[] := array_fill(false, array[cardinality(g_account)]);
  spent    boolean := false;
  r        record;
begin
  perform from accounts a where a.account_id = any (g_account) order by a.account_id for no key update;
  -- Read after the lock was granted, so that moments follow each other in the order of the locks: a
  -- second waited for never fills an allowance twice, and a key that expired meanwhile is seen.
  moment := clock_timestamp();

  select v.version into current_routing from routing_version v;

  for r in
    select g.n::integer as n, g.account_id, g.key_id, g.count, g.credits,
           k.key_id is null or k.revoked_at is not null as is_revoked,
           k.expires_at <= moment as is_expired, g.routing <> current_routing as is_stale,
           i.fingerprint = g.fingerprint as is_repeated, i.message_ids,
           row_number() over (partition by g.account_id, g.idempotency_key order by g.n) as turn,
           g.idempotency_key, a.balance, a.default_sender,
           least(send_burst, coalesce(
             a.send_tokens + send_rate * greatest(0, extract(epoch from moment - a.send_tokens_at)), send_burst
           )) as tokens
      from unnest(g_account, g_key, g_routing, g_idempotency_key, g_fingerprint, g_count, g_credits)
           with ordinality as g (account_id, key_id, routing, idempotency_key, fingerprint, count, credits, n)
      join accounts a on a.account_id = g.account_id
      left join keys k on k.key_id = g.key_id and k.account_id = g.account_id
      left join idempotency i on i.account_id = g.account_id and i.key = g.idempotency_key
     order by g.account_id, g.n
  loop
    if account is distinct from r.account_id then
      account := r.account_id;
      purse := r.balance;
      bucket := r.tokens;
    end if;
    n := r.n;
    message_ids := null;
    default_sender := r.default_sender;
    outcome := case
      when r.key_id is not null and r.is_revoked then 'key_revoked'
      when r.key_id is not null and r.is_expired then 'key_expired'
      when r.is_repeated then 'replayed'
      when not r.is_repeated then 'key_reused'
      -- The first of two equal keys in one batch decides; the second asks again and sees its record.
      when r.idempotency_key is not null and r.turn > 1 then 'again'
      when r.is_stale then 'routing_changed'
      -- A batch larger than the whole allowance passes when the allowance is full, and leaves a debt.
      when r.count > bucket and bucket < send_burst then 'rate_limited'
      when r.credits > purse then 'credits_insufficient'
      else 'accepted'
    end;
    if outcome = 'accepted' then
      accepted[r.n] := true;
      spent := true;
      purse := purse - r.credits;
      bucket := bucket - r.count;
    elsif outcome = 'replayed' then
      message_ids := r.message_ids;
    end if;
    available := purse;
    tokens := bucket;
    return next;
  end loop;

  if not spent then
    return;
  end if;

  with m as materialized (
    select u.*
      from unnest(m_group, m_account, m_key, m_id, m_recipient, m_sender, m_text, m_encoding, m_segments,
                  m_credits, m_reference, m_metadata, m_callback_url, m_concat_reference, m_carrier, m_created_at,
                  m_send_at, m_expires_at, m_leased)
           with ordinality as u (g, account_id, key_id, id, recipient, sender, text, encoding, segments,
                                 credits, reference, metadata, callback_url, concat_reference, carrier_id, created_at,
                                 send_at, expires_at, leased, n)
     where accepted[u.g]
  ), charged as (
    insert into ledger (account_id, seq, message_id, kind, amount, balance_after, created_at)
    select m.account_id, a.ledger_seq + row_number() over w, m.id, 'charge', -m.credits,
           a.balance - sum(m.credits) over w, m.created_at
      from m
      join accounts a on a.account_id = m.account_id
    window w as (partition by m.account_id order by m.n rows unbounded preceding)
  ), stored as (
    insert into messages (account_id, message_id, key_id, recipient, sender, text, encoding, segments, credits,
                          status, reference, metadata, callback_url, concat_reference, carrier_id, created_at,
                          send_at, expires_at)
    select m.account_id, m.id, m.key_id, m.recipient, coalesce(m.sender, a.default_sender), m.text, m.encoding,
           m.segments, m.credits, 'QUEUED', m.reference, m.metadata, m.callback_url, m.concat_reference,
           m.carrier_id, m.created_at, m.send_at, m.expires_at
      from m
      join accounts a on a.account_id = m.account_id
  ), queued as (
    insert into send_queue (message_id, account_id, carrier_id, due_at, expires_at, leased_by, lease_epoch, attempt)
    select m.id, m.account_id, m.carrier_id,
           case when m.leased then moment + lease else coalesce(m.send_at, moment) end,
           m.expires_at, case when m.leased then node end, m.leased::integer, m.leased::integer
      from m
  ), remembered as (
    insert into idempotency (account_id, key, fingerprint, message_ids, created_at)
    select g.account_id, g.key, g.fingerprint, (select array_agg(m.id order by m.n) from m where m.g = g.n), moment
      from unnest(g_account, g_idempotency_key, g_fingerprint)
           with ordinality as g (account_id, key, fingerprint, n)
     where accepted[g.n] and g.key is not null
  ), tallied as (
    insert into stat_changes (account_id, changes)
    select t.account_id, array_agg((t.minute, null, 'QUEUED', null, null, t.count, t.credits)::stat_change)
      from (select m.account_id, date_bin('1 minute', m.created_at, 'epoch') as minute, count(*) as count,
                   sum(m.credits) as credits
              from m
             group by m.account_id, minute) t
     group by t.account_id
  ), told as (
    insert into watched_changes (account_id, kind, ids, versions, is_charged)
    select m.account_id, 'message', array_agg(m.id::text), array_agg(1::smallint), true
      from m
      join watched_accounts w on w.account_id = m.account_id and w.until > moment
     group by m.account_id
  )
  update accounts a
     set balance = a.balance - s.credits,
         ledger_seq = a.ledger_seq + s.count,
         send_tokens = least(send_burst, coalesce(
           a.send_tokens + send_rate * greatest(0, extract(epoch from moment - a.send_tokens_at)), send_burst
         )) - s.count,
         send_tokens_at = greatest(a.send_tokens_at, moment)
    from (select m.account_id, sum(m.credits) as credits, count(*) as count from m group by m.account_id) s
   where a.account_id = s.account_id;
end $$;
