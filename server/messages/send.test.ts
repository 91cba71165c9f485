import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "#http/problem";
import { systemClock } from "#platform";
import { absentDatabase } from "../../test/support/recorder.ts";
import type { Accepted } from "./acceptor.ts";
import { sendMessages } from "./send.ts";

test("a repetition that is refused by now is refused only once it is known that it was not accepted", async () => {
  const codeOf = async (outcome: "queue_full" | "unknown" | "routing_changed") => {
    const accepted: Accepted = outcome === "routing_changed" ? { outcome, tokens: 0 } : { outcome };
    const routing = { version: 1, carriersFor: () => ["carrier"], priceFor: () => 1 };
    const sending = sendMessages(
      {
        db: absentDatabase(),
        clock: systemClock,
        accept: async () => accepted,
        routing: { current: async () => routing, reload: async () => routing },
        judgeUrl: () => ({ allowed: true }),
        concatReference: () => 0,
        limits: { sends: 1, sendsBurst: 1 },
      },
      { accountId: "account", keyId: "key" },
      {
        body: { recipient: "4915112345678", text: "Hello", sendAt: "2026-01-01T00:00:00Z" },
        idempotencyKey: "k",
      },
    );
    const problem = await sending.catch((error: unknown) => error);
    return problem instanceof Problem ? problem.code : assert.fail("it was accepted");
  };

  assert.equal(await codeOf("queue_full"), "QUEUE_FULL");
  assert.equal(await codeOf("unknown"), "INTERNAL");
  assert.equal(await codeOf("routing_changed"), "VALIDATION_FAILED");
});
