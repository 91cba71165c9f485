import assert from "node:assert/strict";
import { test } from "node:test";
import { type Database, type Queryable, sql } from "#platform";
import { startApi } from "../../test/support/api.ts";
import { browseLedger } from "./browse-ledger.ts";

/** How many entries are looked at for one page. */
const LOOKED_AT = 10_000;
const REFUNDS = { kinds: ["refund"] as const, messageId: null, month: null };

for (const n of [2, 3]) {
  test(`an entry booked before statement ${n} of a look leaves every other entry on exactly one page`, async () => {
    await using api = await startApi({ credits: 0 });
    const { db, accountId } = api;
    await fillLedger(db, accountId);
    const page = { accountId, filter: REFUNDS, limit: 10 };

    const interrupted = interruptedBefore(n, db, () => book(db, accountId, "charge"));
    const first = await browseLedger(interrupted, { ...page, position: null });
    const id = first.lookedUntil ?? 0;
    const second = await browseLedger(db, { ...page, position: { direction: "older", id } });

    const seqs = [...first.rows, ...second.rows].map((row) => row.seq);
    assert.deepEqual(seqs, [2]);
  });
}

test("if a look ends with more than a page, the next page continues behind what is shown", async () => {
  await using api = await startApi({ credits: 0 });
  const { db, accountId } = api;
  await fillLedger(db, accountId);

  const interrupted = interruptedBefore(3, db, () => book(db, accountId, "refund"));
  const page = { accountId, filter: REFUNDS, limit: 1 };
  const { rows, lookedUntil } = await browseLedger(interrupted, { ...page, position: null });

  assert.deepEqual([rows.length, lookedUntil], [2, null]);
});

/** The only refund is the last entry that a page looks at. */
async function fillLedger(db: Database, accountId: string): Promise<void> {
  await db.query(sql`
    insert into ledger (account_id, seq, message_id, kind, amount, balance_after, created_at)
    select ${accountId}, n, gen_random_uuid(), case when n = 2 then 'refund' else 'charge' end, 0, 0, now()
      from generate_series(1, ${LOOKED_AT + 1}) n`);
}

async function book(db: Database, accountId: string, kind: "charge" | "refund"): Promise<void> {
  await db.query(sql`
    insert into ledger (account_id, seq, message_id, kind, amount, balance_after, created_at)
    values (${accountId}, ${LOOKED_AT + 2}, gen_random_uuid(), ${kind}, 0, 0, now())`);
}

function interruptedBefore(n: number, db: Queryable, interrupt: () => Promise<void>): Queryable {
  let asked = 0;
  return {
    async query(statement) {
      if (++asked === n) await interrupt();
      return db.query(statement);
    },
  };
}
