-- Watching: what changes in an account while somebody looks at it. Nothing is written for an account that nobody
-- watches. Unlogged: after a crash, watchers are told to read everything again.
create unlogged table watched_accounts (
  -- All zeros stands for what concerns the operator.
  account_id uuid        primary key,
  -- Nothing was missed since then.
  since      timestamptz not null,
  until      timestamptz not null
);

-- The ids of what changed, never its content. Readers take what their snapshot sees and the previous one did not:
-- numbers assigned before the commit could not promise that no lower one appears later.
create unlogged table watched_changes (
  xid        xid8        not null default pg_current_xact_id(),
  at         timestamptz not null default clock_timestamp(),
  account_id uuid        not null,
  -- message, key, delivery, member, credits, account; for the operator audit, accounts, carriers, routing
  kind       text        not null,
  ids        text[]      not null default '{}',
  -- For messages: the number of the status change.
  versions   smallint[]  not null default '{}',
  -- Whether the balance changed too.
  is_charged boolean     not null default false
);
create index watched_changes_by_transaction on watched_changes (xid);
create index watched_changes_by_age on watched_changes (at);

create function is_watched(account uuid) returns boolean language sql stable
  return exists (select from watched_accounts w where w.account_id = account and w.until > clock_timestamp());

-- Every change of a key, member, credit or setting writes an audit entry, so that insert tells the watchers.
create function tell_watchers_of_audit() returns trigger language plpgsql as $$
declare
  operator  constant uuid := '00000000-0000-0000-0000-000000000000';
  subject   constant text := split_part(new.action, '.', 1);
  -- What the lists of accounts, users and members show. Nothing reports when somebody was last seen.
  is_listed constant boolean := subject in ('account', 'credits', 'setup', 'member')
    or new.action in ('user.created', 'user.changed', 'user.operator_changed', 'user.password_reset',
                      'user.second_factor_switched_on', 'user.second_factor_switched_off');
begin
  if new.account_id is not null and subject in ('key', 'member', 'credits', 'account', 'secret') and is_watched(new.account_id) then
    insert into watched_changes (account_id, kind, ids, is_charged)
    values (new.account_id, case subject when 'secret' then 'account' else subject end,
            array_remove(array[new.object_id], null), subject = 'credits');
  end if;
  if subject = 'user' and is_listed then
    insert into watched_changes (account_id, kind, ids)
    select m.account_id, 'member', array[new.object_id]
      from memberships m
      join watched_accounts w on w.account_id = m.account_id and w.until > clock_timestamp()
     where m.user_id = new.object_id::uuid;
  end if;
  if is_watched(operator) then
    insert into watched_changes (account_id, kind)
    select operator, k.kind
      from unnest(array['audit', case when is_listed then 'accounts'
                                      when subject = 'carrier' then 'carriers'
                                      when subject in ('route', 'price') then 'routing' end]) as k (kind)
     where k.kind is not null;
  end if;
  return null;
end $$;
create trigger watchers_hear_of_audit after insert on audit_log
  for each row execute function tell_watchers_of_audit();

-- Called where attempts are stored, because a trigger would first copy each of them.
create function tell_watchers_of_attempts(accounts uuid[], messages uuid[], sequences smallint[]) returns void
language plpgsql as $$
begin
  if not exists (select from watched_accounts w where w.until > clock_timestamp()) then
    return;
  end if;
  insert into watched_changes (account_id, kind, ids)
  select n.account_id, 'delivery', array_agg(distinct event_id(n.message_id, n.sequence)::text)
    from unnest(accounts, messages, sequences) as n (account_id, message_id, sequence)
    join watched_accounts w on w.account_id = n.account_id and w.until > clock_timestamp()
   group by n.account_id;
end $$;

create function tell_watchers_of_key_usage() returns trigger language plpgsql as $$
begin
  insert into watched_changes (account_id, kind, ids)
  select k.account_id, 'key', array_agg(k.key_id::text)
    from used u
    join keys k on k.key_id = u.key_id
    join watched_accounts w on w.account_id = k.account_id and w.until > clock_timestamp()
   group by k.account_id;
  return null;
end $$;
create trigger watchers_hear_of_first_use after insert on key_usage referencing new table as used
  for each statement execute function tell_watchers_of_key_usage();
create trigger watchers_hear_of_use after update on key_usage referencing new table as used
  for each statement execute function tell_watchers_of_key_usage();
