import assert from "node:assert/strict";
import { test } from "node:test";
import { submissionHistory } from "#sending";
import { webhookHistory } from "#webhooks";
import { webhookWorld } from "../../test/support/webhook-world.ts";
import { readHistory } from "./history.ts";
import { findMessage } from "./read.ts";

test("a history that is read while its message moves on shows none of that move", async () => {
  await using world = await webhookWorld();
  const { accountId } = world;
  const messageId = await world.message({ url: "http://127.0.0.1:9/" });

  const history = await world.db.snapshot(async (snapshot) => {
    const message = await findMessage(snapshot, accountId, messageId);
    assert.ok(message);
    await world.move(messageId, "FAILED");
    return readHistory(snapshot, message, {
      submissions: (from) => submissionHistory(from, messageId),
      webhooks: (from) => webhookHistory(from, { accountId, messageId }),
    });
  });

  assert.deepEqual(
    history.map((entry) => (entry.type === "status" ? entry.status : entry.type)),
    ["QUEUED"],
  );
});
