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

test("what was claimed is still held where the database tells only half a minute later what it is", async () => {
  await using api = await startApi();
  await api.send({ recipient: "4915112345678", text: "Hello" });
  const [queued] = await api.db.query<{ carrier_id: string }>(sql`
    select carrier_id from send_queue`);
  const { promise: timedOut, resolve } = Promise.withResolvers<void>();
  let aheadMs = 0;
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => systemClock.monotonicMs() + aheadMs,
    async sleep() {
      aheadMs = 30_000;
      resolve();
    },
  };

  const { claiming } = await api.db.transaction(async (tx) => {
    await tx.query(sql`lock table messages in access exclusive mode`);
    const asked = claimDueSends(api.db, wishFor(queued?.carrier_id), { clock });
    await timedOut;
    return { claiming: asked };
  });

  const [due] = (await claiming).due;
  assert.ok((due?.leasedAtMs ?? 0) >= systemClock.monotonicMs() + 29_000, "its lease is a new one");
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
