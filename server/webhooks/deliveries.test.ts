import assert from "node:assert/strict";
import { test } from "node:test";
import { type Database, localMoment, sql, systemClock } from "#platform";
import { TEST_SECRETS as secrets } from "../../test/support/secret-key.ts";
import { webhookWorld } from "../../test/support/webhook-world.ts";
import { claimDeliveries, readSecrets } from "./deliveries.ts";

test("a claim that crosses another node's starts over, four times at most", async () => {
  const crossed = Object.assign(new Error(), { constraint: "one_delivery_in_flight_per_message" });
  const claimAfter = (times: number) => {
    let asked = 0;
    const query = () => {
      asked += 1;
      return asked <= times ? Promise.reject(crossed) : Promise.resolve([]);
    };
    const moment = localMoment(systemClock);
    const claim = { lanes: [], kind: "first" as const, moment, secrets };
    return claimDeliveries({ query } as unknown as Database, claim);
  };

  assert.deepEqual((await claimAfter(4)).deliveries, []);
  await assert.rejects(claimAfter(5), crossed);
});

test("a secret that cannot be opened does not keep other accounts' webhooks from being signed", async () => {
  await using world = await webhookWorld();
  const { db, accountId } = world;
  const other = await world.newAccount();
  await db.query(sql`update signing_secrets set sealed = 'x' where account_id = ${other}`);

  const { found, away } = await readSecrets(db, [other, accountId], world.secrets);

  assert.deepEqual([...found.keys()], [accountId]);
  assert.equal(away, undefined);
});
