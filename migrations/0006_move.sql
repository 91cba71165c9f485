-- Moving: the only way in which a status changes after acceptance.

-- Moves each message that still has the given status, refunds those that fail, and writes the event, and the delivery
-- if there is a callback address. If m_lease asks for it, the delivery is inserted with a lease for the caller, who
-- makes its first attempt right after the commit; but not while another delivery of the message waits or is in
-- progress, which must come first. Deliveries are added only under the message's lock, so none can appear meanwhile.
-- Returns the messages that moved.
--
-- Locks are taken in the same order everywhere: accounts, then queue rows, then messages, each by id. The caller has
-- locked the queue rows, and the accounts of messages that are to fail.
create function move_messages(
  m_account uuid[], m_id uuid[], m_from text[], m_to text[], m_at timestamptz[], m_carrier uuid[],
  m_error text[], m_carrier_code text[], m_body bytea[], m_host_key bigint[], m_lease boolean[], lease interval
) returns table (message_id uuid, sequence smallint, is_leased boolean, is_blocked boolean, moved_at timestamptz)
language plpgsql
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
  perform from messages m
     join unnest(m_account, m_id) as u (account_id, id) on m.account_id = any (array[u.account_id]) and m.message_id = u.id
    order by m.message_id for no key update of m;

  return query
  with u as materialized (
    select * from unnest(m_account, m_id, m_from, m_to, m_at, m_carrier, m_error, m_carrier_code, m_body, m_host_key, m_lease)
      as u (account_id, id, was, now_is, at, carrier_id, error, carrier_code, body, host_key, lease)
  ), changed as (
    update messages m
       set status = u.now_is,
           sequence = m.sequence + 1,
           carrier_id = coalesce(u.carrier_id, m.carrier_id),
           sent_at = case when u.now_is = 'SENT' then u.at else m.sent_at end,
           final_at = case when u.now_is = 'SENT' then null else u.at end,
           error_code = u.error,
           error_carrier_code = u.carrier_code
      from u
     where m.account_id = any (array[u.account_id]) and m.message_id = u.id and m.status = u.was
    returning m.account_id, m.message_id, m.sequence, m.status, u.at, m.callback_url, m.credits, u.body, u.host_key,
              u.lease, u.was, m.error_code, m.created_at, coalesce(m.send_at, m.created_at) as due_at
  ), noted as (
    insert into events (message_id, sequence, account_id, status, at, callback_url, body)
    select c.message_id, c.sequence, c.account_id, c.status, c.at, case when c.body is not null then c.callback_url end, c.body
      from changed c
  ), told_of as materialized (
    select c.message_id, c.sequence, c.account_id, c.host_key, c.lease and o.count = 0 as is_leased, o.leased > 0 as is_blocked
      from changed c
     cross join lateral (
       select count(*) as count, count(w.leased_until) as leased
         from webhook_deliveries w
        where w.message_id = c.message_id
     ) o
     where c.body is not null
  ), due as (
    insert into webhook_deliveries (message_id, sequence, account_id, host_key, created_at, next_at, attempts,
                                    leased_until, lease_epoch)
    select t.message_id, t.sequence, t.account_id, t.host_key, moment,
           case when t.is_leased then moment + lease else moment end, t.is_leased::integer,
           case when t.is_leased then moment + lease end, t.is_leased::integer
      from told_of t
  ), followed as (
    insert into followed_events (account_id, message_id, sequence)
    select c.account_id, c.message_id, c.sequence
      from changed c
     where c.account_id = any (array(select f.account_id from followers f where f.until > moment))
  ), tallied as (
    insert into stat_changes (account_id, changes)
    select t.account_id,
           array_agg((t.minute, t.was, t.status, t.error_code, t.latency, t.count, t.credits)::stat_change)
      from (select c.account_id, date_bin('1 minute', c.created_at, 'epoch') as minute, c.was, c.status, c.error_code,
                   case c.status when 'DELIVERED' then latency_class(c.at - c.due_at) end as latency,
                   count(*) as count, sum(c.credits) as credits
              from changed c
             group by c.account_id, minute, c.was, c.status, c.error_code, latency) t
     group by t.account_id
  ), told as (
    insert into watched_changes (account_id, kind, ids, versions, is_charged)
    select c.account_id, 'message', array_agg(c.message_id::text), array_agg(c.sequence), bool_or(c.status = 'FAILED')
      from changed c
     where c.account_id = any (array(select w.account_id from watched_accounts w where w.until > moment))
     group by c.account_id
  ), refunded as (
    insert into ledger (account_id, seq, message_id, kind, amount, balance_after, created_at)
    select c.account_id, a.ledger_seq + row_number() over w, c.message_id, 'refund', c.credits,
           a.balance + sum(c.credits) over w, c.at
      from changed c
      join accounts a on a.account_id = c.account_id
     where c.status = 'FAILED'
    window w as (partition by c.account_id order by c.message_id rows unbounded preceding)
  ), credited as (
    update accounts a
       set balance = a.balance + s.credits, ledger_seq = a.ledger_seq + s.count
      from (select c.account_id, sum(c.credits) as credits, count(*) as count
              from changed c where c.status = 'FAILED' group by c.account_id) s
     where a.account_id = s.account_id
  )
  select t.message_id, t.sequence, t.is_leased, t.is_blocked, moment
    from told_of t
   union all
  select c.message_id, c.sequence, false, false, moment
    from changed c
   where c.body is null;
end $$;
