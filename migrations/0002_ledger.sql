-- The ledger: one row per change of credits, never updated. `accounts.balance` is its sum. No foreign keys: rows are
-- written only under the account's lock, and a foreign key would look the account up again for each row.
create table ledger (
  account_id    uuid        not null,
  -- Without gaps, in the order in which the account was locked.
  seq           bigint      not null,
  message_id    uuid,
  kind          text        not null,
  amount        bigint      not null,
  balance_after bigint      not null,
  actor         text,
  note          text,
  created_at    timestamptz not null,

  primary key (account_id, seq),
  constraint ledger_kind_is_known check (kind in ('charge', 'refund', 'topup', 'adjustment')),
  constraint charges_and_refunds_name_a_message check ((kind in ('charge', 'refund')) = (message_id is not null)),
  constraint topups_and_adjustments_name_an_actor check ((kind in ('topup', 'adjustment')) = (actor is not null)),
  constraint signs_fit_the_kind check (
    case kind when 'charge' then amount <= 0 when 'adjustment' then true else amount >= 0 end
  ),
  constraint ledger_never_goes_below_zero check (balance_after >= 0)
);

-- A message is charged once and refunded at most once, whichever node retries.
create unique index ledger_once_per_message on ledger (message_id, kind) where message_id is not null;

create trigger ledger_is_append_only before update or delete on ledger
  for each row execute function refuse_change();

-- Credits that an operator adds or takes. Idempotent by `reference`: each is booked only once.
create table bookings (
  account_id uuid   not null references accounts,
  reference  text   not null,
  seq        bigint not null,
  primary key (account_id, reference)
);

-- Adds or takes credits under the account's lock. Books a reference once, and reports if it was booked already.
create function book_credits(
  account uuid, kind text, amount bigint, actor text, note text, reference text, at timestamptz
) returns table (outcome text, balance bigint) language plpgsql as $$
declare
  held accounts;
  earlier bigint;
begin
  select * into held from accounts a where a.account_id = account for no key update;
  if not found then
    return query select 'account_unknown', 0::bigint;
    return;
  end if;
  select l.amount into earlier
    from bookings b
    join ledger l using (account_id, seq)
   where b.account_id = account
     and b.reference = book_credits.reference;
  if earlier is not null then
    return query select case when earlier = amount then 'repeated' else 'reference_reused' end, held.balance;
  elsif held.balance + amount < 0 then
    return query select 'below_zero', held.balance;
  else
    update accounts a set balance = a.balance + amount, ledger_seq = a.ledger_seq + 1 where a.account_id = account;
    insert into ledger (account_id, seq, kind, amount, balance_after, actor, note, created_at)
    values (account, held.ledger_seq + 1, kind, amount, held.balance + amount, actor, note, at);
    if reference is not null then
      insert into bookings (account_id, reference, seq) values (account, reference, held.ledger_seq + 1);
    end if;
    return query select 'booked', held.balance + amount;
  end if;
end $$;
