import assert from "node:assert/strict";
import { after, test } from "node:test";
import { NIL_ID, sql } from "#platform";
import { testDatabase } from "../../test/support/postgres.ts";
import { BEFORE_ALL_LANES, findNewestReplays, walkLanes } from "./due-lanes.ts";

const db = await testDatabase();
after(() => db[Symbol.asyncDispose]());

test("a walk of lanes goes on behind the last one it looked at, even if nothing is due there", async () => {
  for (const [hostKey, wait] of [
    [-1, "0 s"],
    [2, "1 h"],
    [3, "0 s"],
  ] as const)
    await queue({ hostKey, wait });

  const first = await walkLanes(db, BEFORE_ALL_LANES, 2);
  const rest = await walkLanes(db, first.after ?? BEFORE_ALL_LANES, 2);

  const keysOf = ({ due }: typeof first) => due.map(({ hostKey }) => hostKey);
  assert.deepEqual([keysOf(first), first.after], [[-1n], 2n]);
  assert.deepEqual([keysOf(rest), rest.after], [[3n], null]);
});

test("of the replays that wait in a lane, the newest is found", async () => {
  const replays = [1, 3, 2].map((n) => NIL_ID.replace(/0$/, String(n)));
  for (const replayId of replays) await queue({ hostKey: 4, replayId });
  await queue({ hostKey: 5 });

  assert.deepEqual(await findNewestReplays(db, [4n, 5n]), [{ hostKey: 4n, replayId: replays[1] }]);
});

async function queue({
  hostKey,
  wait = "0 s",
  replayId = null,
}: {
  hostKey: number;
  wait?: string;
  replayId?: string | null | undefined;
}): Promise<void> {
  await db.query(sql`
    insert into webhook_deliveries (message_id, sequence, account_id, host_key, replay_id, created_at, next_at)
    values (gen_random_uuid(), 2, ${NIL_ID}, ${hostKey}, ${replayId}, now(), now() + ${wait}::interval)`);
}
