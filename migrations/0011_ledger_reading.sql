-- Reading the ledger: by kind, and by month.

-- What people booked is rare among millions of charges; charges and refunds are not in this index.
create index ledger_booked_by_people on ledger (account_id, seq) where kind in ('topup', 'adjustment');

-- The first entry of an account that is not older than a moment; one beyond the last where all are.
-- Entries follow each other without a gap and, but for moments between nodes, in order of time: so
-- halving finds it without an index on time, and adjoining months share each entry out exactly once.
create function ledger_seq_at(account uuid, moment timestamptz) returns bigint language plpgsql stable as $$
declare
  low  bigint := 1;
  high bigint;
  half bigint;
begin
  select coalesce(max(l.seq), 0) + 1 into high from ledger l where l.account_id = account;
  while low < high loop
    half := (low + high) / 2;
    if (select l.created_at < moment from ledger l where l.account_id = account and l.seq = half) then
      low := half + 1;
    else
      high := half;
    end if;
  end loop;
  return low;
end $$;
