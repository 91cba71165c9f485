import assert from "node:assert/strict";
import { test } from "node:test";
import { sql, systemClock } from "#platform";
import { startConsole } from "../../test/support/console.ts";
import { somebodyWaits } from "../../test/support/locks.ts";
import { manualClock } from "../../test/support/manual-clock.ts";
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

test("a stream that opens when the server closes is ended at once", async () => {
  await using console = await startConsole();
  const { db, accountId } = console;
  const hub = streamHub({ db, clock: systemClock, operatorNews: async () => [] });
  let isEnded = false;
  const answer = await hub.open({ sessionId: accountId, accountId, role: "developer" });

  hub.close();
  answer({
    write: () => true,
    end: () => void (isEnded = true),
    onClose: () => undefined,
    lastEventId: undefined,
  });

  assert.ok(isEnded);
});

test("every 15 s each stream says, as an event that pages can hear, that it is there", async () => {
  await using console = await startConsole();
  const { db, accountId } = console;
  await console.member("developer");
  const [session] = await db.query<{ id: string }>(sql`select session_id as id from sessions`);
  const clock = manualClock(new Date());
  const hub = streamHub({ db, clock, operatorNews: async () => [] });
  const written: string[] = [];
  const watcher = { sessionId: session?.id ?? "", accountId, role: "developer" as const };
  (await hub.open(watcher))({
    write: (text) => written.push(text) > 0,
    end: () => undefined,
    onClose: () => undefined,
    lastEventId: undefined,
  });
  const beats = async () => {
    await hub.loop.pass(new AbortController().signal);
    return written.filter((text) => text === "event: beat\ndata:\n\n").length;
  };

  clock.advance(14_999);
  assert.equal(await beats(), 0);
  clock.advance(1);
  assert.equal(await beats(), 1);
});
