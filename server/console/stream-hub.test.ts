import assert from "node:assert/strict";
import { test } from "node:test";
import { sql, systemClock } from "#platform";
import { startConsole } from "../../test/support/console.ts";
import { somebodyWaits } from "../../test/support/locks.ts";
import { streamHub } from "./stream-hub.ts";

test("a stream that opens while others are asked whether they may go on is not ended", async () => {
  await using console = await startConsole();
  const { db, accountId } = console;
  await console.member("developer");
  await console.member("developer");
  const [first, second] = await db.query<{ id: string }>(sql`
    select session_id as id from sessions`);
  const hub = streamHub({ db, clock: systemClock, operatorNews: async () => [] });
  const ended: string[] = [];
  const open = async (sessionId = "") =>
    (await hub.open({ sessionId, accountId, role: "developer" }))({
      write: () => true,
      end: () => void ended.push(sessionId),
      onClose: () => undefined,
      lastEventId: undefined,
    });
  await open(first?.id);

  const { pass } = await db.transaction(async (tx) => {
    await tx.query(sql`lock table memberships in access exclusive mode`);
    const asking = hub.loop.pass(new AbortController().signal);
    await somebodyWaits(db);
    await open(second?.id);
    return { pass: asking };
  });
  await pass;

  assert.deepEqual(ended, []);
});
