import assert from "node:assert/strict";
import { test } from "node:test";
import { type Clock, newId, sql, systemClock } from "#platform";
import { startApi } from "../../test/support/api.ts";
import { claimDueSends } from "./due-send.ts";

test("however often a message was claimed, it can be claimed again", async () => {
  await using api = await startApi();
  await api.send({ recipient: "4915112345678", text: "Hello" });
  const [queued] = await api.db.query<{ carrier_id: string }>(sql`
    update send_queue set attempt = 32767 returning carrier_id`);

  const { due } = await claimDueSends(api.db, wishFor(queued?.carrier_id), { clock: systemClock });

  assert.equal(due.length, 1);
});

test("what was claimed is not forgotten where the database does not tell at once what it is", async () => {
  await using api = await startApi();
  await api.send({ recipient: "4915112345678", text: "Hello" });
  const [queued] = await api.db.query<{ carrier_id: string }>(sql`
    select carrier_id from send_queue`);
  const { promise: timedOut, resolve } = Promise.withResolvers<void>();
  const clock: Clock = { ...systemClock, sleep: async () => resolve() };

  const { claiming } = await api.db.transaction(async (tx) => {
    await tx.query(sql`lock table messages in access exclusive mode`);
    const asked = claimDueSends(api.db, wishFor(queued?.carrier_id), { clock });
    await timedOut;
    return { claiming: asked };
  });

  assert.equal((await claiming).due.length, 1);
});

function wishFor(carrierId = ""): Parameters<typeof claimDueSends>[1] {
  return {
    carrierId,
    nodeId: newId(systemClock.now().getTime()),
    room: 10,
    afterAccount: "00000000-0000-0000-0000-000000000000",
    nowMs: systemClock.monotonicMs(),
  };
}
