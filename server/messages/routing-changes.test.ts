import assert from "node:assert/strict";
import { after, test } from "node:test";
import { sql, within } from "#platform";
import { held, somebodyWaits } from "../../test/support/locks.ts";
import { testDatabase } from "../../test/support/postgres.ts";
import { lockRouting } from "./routing.ts";
import { listPrices, removePrice, setPrice } from "./routing-changes.ts";

const db = await testDatabase();
after(() => db[Symbol.asyncDispose]());

const BY = { actor: "test", now: new Date() };

test("of two changes of a price at once, the audit log says of the later what it replaced", async () => {
  const { later } = await held(db, async (tx) => {
    await setPrice(within(tx), { prefix: "49", credits: 2 }, BY);
    const asked = setPrice(db, { prefix: "49", credits: 3 }, BY);
    await somebodyWaits(db);
    return { later: asked };
  });
  await later;

  const audited = await db.query(sql`
    select details from audit_log where object_id = '49' order by details -> 'after'`);
  assert.deepEqual(audited, [
    { details: { before: null, after: 2 } },
    { details: { before: 2, after: 3 } },
  ]);
});

test("a price removed while another change holds the tables waits for it, and neither fails", async () => {
  await setPrice(db, { prefix: "44", credits: 2 }, BY);

  const { removed } = await held(db, async (tx) => {
    await lockRouting(tx);
    const asked = removePrice(db, "44", BY);
    asked.catch(() => undefined);
    await somebodyWaits(db);
    await setPrice(within(tx), { prefix: "44", credits: 3 }, BY);
    return { removed: asked };
  });

  assert.equal(await removed, true);
  assert.deepEqual(await listPrices(db, "44"), []);
});
