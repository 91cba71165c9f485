import assert from "node:assert/strict";
import { test } from "node:test";
import { newId, sql, systemClock } from "#platform";
import { startApi } from "../../test/support/api.ts";
import { claimDueSends } from "./due-send.ts";

test("however often a message was claimed, it can be claimed again", async () => {
  await using api = await startApi();
  await api.send({ recipient: "4915112345678", text: "Hello" });
  const [queued] = await api.db.query<{ carrier_id: string }>(sql`
    update send_queue set attempt = 32767 returning carrier_id`);

  const { due } = await claimDueSends(api.db, {
    carrierId: queued?.carrier_id ?? "",
    nodeId: newId(systemClock.now().getTime()),
    room: 10,
    afterAccount: "00000000-0000-0000-0000-000000000000",
    nowMs: systemClock.monotonicMs(),
  });
  assert.equal(due.length, 1);
});
