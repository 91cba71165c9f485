import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Database,
  localMoment,
  NIL_ID,
  type SecretBox,
  secretBox,
  silentLog,
  systemClock,
} from "#platform";
import { absentDatabase } from "../../test/support/recorder.ts";
import { webhookWorld } from "../../test/support/webhook-world.ts";
import { aheadKeeper } from "./ahead.ts";
import { deliveryIntake } from "./delivery-intake.ts";
import type { DeliveryRunner } from "./delivery-runner.ts";

test("a fault in handing on webhooks is logged and costs none of their places; after a stop none is kept", async () => {
  await using world = await webhookWorld();
  const { intake, ahead, born, logged } = threeBorn(world);
  assert.equal(ahead.held(7n), 3);

  intake.take(born);
  await intake.stop();

  assert.equal(ahead.held(7n), 0);
  assert.equal(intake.reserve(7n), null);
  assert.deepEqual(logged, ["webhooks were not handed on; their leases bring them back"]);
});

test("webhooks that find the database away are put back for five seconds, and one log line says why", async () => {
  const db = absentDatabase();
  const putBack: [number, number][] = [];
  const { intake, born, logged } = threeBorn(
    { db, accountId: NIL_ID, secrets: secretBox(Buffer.alloc(32)) },
    { putBack: ({ sequence }, waitMs) => void putBack.push([sequence, waitMs]) },
  );

  intake.take(born);
  await intake.stop();

  assert.deepEqual(putBack, [
    [1, 5_000],
    [2, 5_000],
    [3, 5_000],
  ]);
  assert.deepEqual(logged, ["webhooks wait for the database to be signed"]);
  await db.close();
});

/** Three webhooks of one message on their way to a runner that does only what is given. */
function threeBorn(
  { db, accountId, secrets }: { db: Database; accountId: string; secrets: SecretBox },
  does: Partial<DeliveryRunner> = {},
) {
  const fault = () => assert.fail("a bug");
  const runner = {
    begin: fault,
    keep: fault,
    offerFirst: fault,
    putBack: fault,
    hasKept: fault,
    lanesKept: fault,
    beginKept: fault,
    sweep: fault,
    stop: () => Promise.resolve(),
    ...does,
  };
  const logged: string[] = [];
  const say = (_fields: object, sentence: string) => void logged.push(sentence);
  const ahead = aheadKeeper({ aheadOf: () => 10 });
  const intake = deliveryIntake({
    db,
    clock: systemClock,
    log: { ...silentLog, error: say, warn: say },
    secrets,
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
  return { intake, ahead, born, logged };
}
