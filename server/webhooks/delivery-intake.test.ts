import assert from "node:assert/strict";
import { test } from "node:test";
import { localMoment, silentLog, systemClock } from "#platform";
import { webhookWorld } from "../../test/support/webhook-world.ts";
import { aheadKeeper } from "./ahead.ts";
import { deliveryIntake } from "./delivery-intake.ts";

test("a fault while webhooks are handed on is logged, and costs none of their places", async () => {
  await using world = await webhookWorld();
  const { db, accountId } = world;
  const logged: string[] = [];
  const fault = () => assert.fail("a bug");
  const runner = {
    begin: fault,
    keep: fault,
    offer: fault,
    putBack: fault,
    hasKept: fault,
    lanesKept: fault,
    beginKept: fault,
    sweep: fault,
    stop: () => Promise.resolve(),
  };
  const ahead = aheadKeeper({ aheadOf: () => 10 });
  const intake = deliveryIntake({
    db,
    clock: systemClock,
    log: { ...silentLog, error: (_fields, sentence) => void logged.push(sentence) },
    secrets: world.secrets,
    ahead,
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
    leasedHere: intake.reserve(7n) ?? localMoment(systemClock),
  }));
  assert.equal(ahead.held(7n), 3);

  intake.take(born);
  await intake.stop();

  assert.equal(ahead.held(7n), 0);
  assert.deepEqual(logged, ["webhooks were not handed on; their leases bring them back"]);
});
