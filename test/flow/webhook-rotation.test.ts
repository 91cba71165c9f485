import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { Webhook } from "standardwebhooks";
import { rotateSigningSecret } from "#accounts";
import { sql, systemClock } from "#platform";
import { sendTestEvent } from "#webhooks";
import { poster } from "../../server/webhooks/post.ts";
import { verifyWebhook } from "../../sdk/webhook.ts";
import { testEgress } from "../support/egress.ts";
import { type Received, startReceiver } from "../support/receiver.ts";
import { type WebhookWorld, webhookWorld } from "../support/webhook-world.ts";

async function rotate({ db, accountId, secrets }: WebhookWorld, overlapHours: number) {
  const change = { actor: "test", now: systemClock.now(), secrets };
  const request = { accountId, overlapHours, dropsPrevious: true, ...change };
  const rotated = await rotateSigningSecret(db, request);
  return rotated.outcome === "rotated" ? rotated.secrets : undefined;
}

/** Ends the overlap now, as if its hours had passed. */
async function endOverlap({ db }: WebhookWorld): Promise<void> {
  await db.query(sql`
    update signing_secrets set not_after = clock_timestamp() where not_after > clock_timestamp()`);
}

/** The secrets that verify this webhook, by each way that a receiver may use. */
function verifiedBy({ body, headers }: Received, secrets: string[]) {
  const hex = (secret: string) => createHmac("sha256", secret).update(body).digest("hex");
  const isVerified = (secret: string) => {
    try {
      new Webhook(secret).verify(body, headers);
      return true;
    } catch {
      return false;
    }
  };
  return {
    current: secrets.findIndex((secret) => headers["x-sms-signature"] === hex(secret)),
    previous: secrets.findIndex((secret) => headers["x-sms-signature-previous"] === hex(secret)),
    standard: secrets.flatMap((secret, position) => (isVerified(secret) ? [position] : [])),
  };
}

for (const hours of [24, 72]) {
  test(`after a rotation with ${hours} hours of overlap both secrets sign, then only the new one, on retries too`, async () => {
    await using receiver = await startReceiver(() => 500);
    await using world = await webhookWorld();
    const [old] = (await world.signingSecrets()) as [string];
    world.worker();
    await world.sent(1, { url: receiver.url });
    await receiver.arrived(1);

    const rotated = await rotate(world, hours);
    await world.hurry(1);
    await receiver.arrived(2);
    await endOverlap(world);
    await world.hurry(1);
    const [before, during, after] = (await receiver.arrived(3)) as [Received, Received, Received];

    const secrets = [old, rotated?.current ?? ""];
    assert.deepEqual(verifiedBy(before, secrets), { current: 0, previous: -1, standard: [0] });
    assert.deepEqual(verifiedBy(during, secrets), { current: 1, previous: 0, standard: [0, 1] });
    assert.deepEqual(verifiedBy(after, secrets), { current: 1, previous: -1, standard: [1] });
    assert.ok(verifyWebhook(during.body, during.headers, old), "the SDK takes the old one too");
    const untilMs = (rotated?.previous?.until.getTime() ?? 0) - systemClock.now().getTime();
    assert.ok(untilMs > (hours - 1) * 3_600_000 && untilMs <= hours * 3_600_000);
  });
}

test("a dropped secret signs nothing after the next claim, on any node", async () => {
  await using receiver = await startReceiver(() => "hold");
  await using world = await webhookWorld();
  const [old] = (await world.signingSecrets()) as [string];
  world.worker();
  world.worker();
  await world.sent(4, { url: receiver.url });
  await receiver.arrived(4);
  receiver.release(500);

  const rotated = await rotate(world, 0);
  await world.hurry(4);
  const received = await receiver.arrived(8);

  const secrets = [old, rotated?.current ?? ""];
  for (const each of received.slice(4))
    assert.deepEqual(verifiedBy(each, secrets), { current: 1, previous: -1, standard: [1] });
  assert.equal(rotated?.previous, null);
});

test("a second rotation while two secrets are live drops the oldest, if that is confirmed", async () => {
  await using receiver = await startReceiver();
  await using world = await webhookWorld();
  const [first] = (await world.signingSecrets()) as [string];
  const second = await rotate(world, 24);
  const third = await rotate(world, 24);
  world.worker();

  await world.sent(1, { url: receiver.url });
  const [received] = (await receiver.arrived(1)) as [Received];

  const secrets = [first, second?.current ?? "", third?.current ?? ""];
  assert.deepEqual(verifiedBy(received, secrets), { current: 2, previous: 1, standard: [1, 2] });
});

test("after a rotation both secrets sign a test event too", async () => {
  await using receiver = await startReceiver();
  await using world = await webhookWorld();
  const { db, accountId, secrets: box } = world;
  const [old] = (await world.signingSecrets()) as [string];
  const rotated = await rotate(world, 24);
  const egress = testEgress();
  const posting = poster(egress);

  await sendTestEvent(
    {
      db,
      clock: systemClock,
      secrets: box,
      poster: posting,
      policy: egress.policy,
      version: "test",
    },
    { accountId, url: receiver.url, status: "DELIVERED", actor: "test" },
  );
  await posting.close();

  const [received] = (await receiver.arrived(1)) as [Received];
  const secrets = [old, rotated?.current ?? ""];
  assert.deepEqual(verifiedBy(received, secrets), { current: 1, previous: 0, standard: [0, 1] });
});
