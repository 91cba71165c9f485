import assert from "node:assert/strict";
import { test } from "node:test";
import { type Queryable, sql } from "#platform";
import { startApi } from "../../test/support/api.ts";
import { browseLedger } from "./browse-ledger.ts";
import { bookCredits } from "./credits.ts";

/** Entries looked at for one page. */
const LOOKED_AT = 10_000;

test("an entry booked while a page is looked for puts no other entry on two pages", async () => {
  await using api = await startApi({ credits: 0 });
  const { db, accountId } = api;
  const booking = { kind: "topup", amount: 5, note: "x", actor: "test", now: new Date() } as const;
  // The one refund is the last entry that a page looks at.
  await db.query(sql`
    with entry as (
      insert into ledger (account_id, seq, message_id, kind, amount, balance_after, created_at)
      select ${accountId}, n, gen_random_uuid(), case when n = 2 then 'refund' else 'charge' end, 0, 0, now()
        from generate_series(1, ${LOOKED_AT + 1}) n
    )
    update accounts set ledger_seq = ${LOOKED_AT + 1} where account_id = ${accountId}`);
  let asked = 0;
  const interrupted: Queryable = {
    async query(statement) {
      if (++asked === 2) await bookCredits(db, { accountId, ...booking });
      return db.query(statement);
    },
  };
  const filter = { kinds: ["refund"] as const, messageId: null, month: null };
  const page = { accountId, filter, limit: 10 };

  const first = await browseLedger(interrupted, { ...page, position: null });
  const id = first.lookedUntil ?? 0;
  const second = await browseLedger(db, { ...page, position: { direction: "older", id } });

  const seqs = [...first.rows, ...second.rows].map((row) => row.seq);
  assert.deepEqual(seqs, [2]);
});
