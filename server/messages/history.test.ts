import assert from "node:assert/strict";
import { test } from "node:test";
import { webhookWorld } from "../../test/support/webhook-world.ts";
import { readHistory } from "./history.ts";
import { findMessage } from "./read.ts";

test("a history ends with the status that its message was read in: a later one would lack its error", async () => {
  await using world = await webhookWorld();
  const messageId = await world.message({ url: null });
  const message = await findMessage(world.db, world.accountId, messageId);
  assert.ok(message);
  await world.move(messageId, "FAILED");

  const history = await readHistory(world.db, message, {
    submissions: () => Promise.resolve([]),
    webhooks: () => Promise.resolve(new Map()),
  });

  assert.deepEqual(
    history.map((entry) => (entry.type === "status" ? entry.status : entry.type)),
    ["QUEUED"],
  );
});
