-- Reading the ledger: by kind, and by month.

-- Top-ups and adjustments are rare among millions of charges. This index leaves out charges and refunds.
create index ledger_booked_by_people on ledger (account_id, seq) where kind in ('topup', 'adjustment');

-- The first entry of an account at or after a moment, or one past the last entry if there is none. Entries have no gaps
-- and are in order of time, apart from small differences between nodes. So a binary search finds it without an index on
-- time, and each entry falls into exactly one of two adjoining months.
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
