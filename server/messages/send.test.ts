import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "#http/problem";
import { systemClock } from "#platform";
import { absentDatabase } from "../../test/support/recorder.ts";
import type { Accepted } from "./acceptor.ts";
import { sendMessages, type SendRequest } from "./send.ts";

const message = { recipient: "4915112345678", text: "Hello" };

/** The error code of the refusal, if accepting has this outcome. */
async function codeOf(accepted: Accepted, wish: SendRequest): Promise<string> {
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
    wish,
  );
  const problem = await sending.catch((error: unknown) => error);
  return problem instanceof Problem ? problem.code : assert.fail("it was accepted");
}

test("a repetition that is invalid by now is refused only once it is known not to have been accepted", async () => {
  const again = { body: { ...message, sendAt: "2026-01-01T00:00:00Z" }, idempotencyKey: "k" };

  assert.equal(await codeOf({ outcome: "queue_full" }, again), "QUEUE_FULL");
  assert.equal(await codeOf({ outcome: "unknown" }, again), "INTERNAL");
  const unseen = { outcome: "routing_changed", tokens: 0 } as const;
  assert.equal(await codeOf(unseen, again), "VALIDATION_FAILED");
});

test("a caller whose key is no longer valid is told no allowance, so that the key is judged again", async () => {
  const told: string[] = [];
  for (const outcome of ["key_revoked", "key_expired", "key_reused", "rate_limited"] as const) {
    const allowance = () => void told.push(outcome);
    await codeOf({ outcome, tokens: 1 }, { body: message, idempotencyKey: undefined, allowance });
  }

  assert.deepEqual(told, ["key_reused", "rate_limited"]);
});

test("routes that change at every look cause no final refusal", async () => {
  const changing = { outcome: "routing_changed", tokens: 0 } as const;

  const code = await codeOf(changing, { body: message, idempotencyKey: undefined });

  assert.equal(code, "UNAVAILABLE");
});
