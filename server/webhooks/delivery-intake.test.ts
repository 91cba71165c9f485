import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog, systemClock } from "#platform";
import { webhookWorld } from "../../test/support/webhook-world.ts";
import { deliveryIntake } from "./delivery-intake.ts";
import { laneKeeper } from "./lanes.ts";

test("a fault while webhooks are handed on is logged, and costs none of their places", async () => {
  await using world = await webhookWorld();
  const { db, accountId } = world;
  const logged: string[] = [];
  const fault = () => assert.fail("a bug");
  const runner = {
    begin: fault,
    keep: fault,
    offer: fault,
    kept: () => 0,
    putBack: fault,
    sweep: fault,
    stop: () => Promise.resolve(),
  };
  const intake = deliveryIntake({
    db,
    clock: systemClock,
    log: { ...silentLog, error: (_fields, sentence) => void logged.push(sentence) },
    secrets: world.secrets,
    lanes: { ...laneKeeper({ clock: systemClock }), aheadOf: () => 10 },
    runner,
    isBehind: () => false,
  });
  const born = [1, 2, 3].map((sequence) => ({
    messageId: "019a85c2-5b00-7abc-8def-0123456789a2",
    sequence,
    accountId,
    hostKey: 7n,
    status: "SENT" as const,
    at: systemClock.now(),
    url: "https://example.com/",
    body: Buffer.from("{}"),
    leasedAt: systemClock.now(),
    leasedAtMs: intake.reserve(7n) ?? 0,
  }));
  assert.equal(intake.coming(7n), 3);

  intake.take(born);
  await intake.stop();

  assert.equal(intake.coming(7n), 0);
  assert.deepEqual(logged, ["webhooks were not handed on; their leases bring them back"]);
});
