import assert from "node:assert/strict";
import { test } from "node:test";
import type { HistoryEntry } from "#contract";
import { submissionHistory } from "#sending";
import { webhookHistory } from "#webhooks";
import { unheard } from "../../test/support/messages.ts";
import { webhookWorld } from "../../test/support/webhook-world.ts";
import { readHistory } from "./history.ts";
import { messageOfMove, moveMessages } from "./move.ts";
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

  assert.deepEqual(history.map(wordOf), ["QUEUED"]);
});

test("of what happened within one millisecond, the cause comes before its effect", async () => {
  await using world = await webhookWorld();
  const { db, accountId } = world;
  const message = await findMessage(db, accountId, await world.message({ url: null }));
  assert.ok(message);
  const step = { ...messageOfMove(message), at: message.created_at };
  for (const [from, to] of [
    ["QUEUED", "SENT"],
    ["SENT", "DELIVERED"],
  ] as const)
    await db.transaction((tx) => moveMessages(tx, [{ ...step, from, to }], unheard));
  const about = { at: message.created_at.toISOString(), carrier: "acme", segment: 1 };
  const told: HistoryEntry[] = [
    { ...about, type: "receipt", state: "DELIVRD", carrierCode: "000", applied: true },
    {
      ...about,
      type: "submission",
      outcome: "accepted",
      carrierMessageId: "17",
      carrierCode: null,
    },
    { ...about, type: "doubt", reason: "No answer came.", action: "resend" },
  ];

  const history = await db.snapshot((snapshot) =>
    readHistory(snapshot, message, {
      submissions: () => Promise.resolve(told),
      webhooks: () => Promise.resolve(new Map()),
    }),
  );

  assert.deepEqual(history.map(wordOf), [
    "QUEUED",
    "doubt",
    "submission",
    "SENT",
    "receipt",
    "DELIVERED",
  ]);
});

function wordOf(entry: HistoryEntry): string {
  return entry.type === "status" ? entry.status : entry.type;
}
