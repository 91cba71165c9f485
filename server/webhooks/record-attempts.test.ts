import assert from "node:assert/strict";
import { test } from "node:test";
import { hostKeyOf } from "#messages";
import {
  type Clock,
  createMetrics,
  type Database,
  DatabaseUnavailable,
  localMoment,
  NIL_ID,
  silentLog,
  sql,
  systemClock,
} from "#platform";
import { manualClock } from "../../test/support/manual-clock.ts";
import { type WebhookWorld, webhookWorld } from "../../test/support/webhook-world.ts";
import { claimDeliveries } from "./deliveries.ts";
import type { Kind } from "./lane-slots.ts";
import { attemptRecorder, type Recorded } from "./record-attempts.ts";

type Claim = Recorded["claim"];

const at = new Date();
const attempt: Recorded["attempt"] = {
  outcome: { kind: "answered", status: 500, retryAfter: null },
  status: 500,
  answer: null,
  timings: { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: 1, totalMs: 1 },
  address: null,
};

const cases: [string, (claim: Claim) => Recorded, object][] = [
  [
    "put back",
    (claim) => ({ claim, at, attempt: null, next: "put_back", waitMs: 0 }),
    { attempts: 0, interrupted: 2, noted: 0, failures: 0 },
  ],
  [
    "tried again",
    (claim) => ({ claim, at, attempt, next: "again", step: 1, waitMs: 0 }),
    { attempts: 1, interrupted: 0, noted: 1, failures: 1 },
  ],
];
for (const [what, recorded, expected] of cases) {
  test(`a delivery that is ${what} counts once even if the answer to the commit was lost`, async () => {
    await using world = await webhookWorld();
    const { db } = world;
    await world.sent(1, { url: ADDRESS });
    await db.query(sql`update webhook_deliveries set interrupted = 2`);
    const claim = await claimOne(world, "first");

    await recorderOf(losingOneAnswer(db)).record(recorded(claim));

    const [row] = await db.query(sql`
      select w.attempts, w.interrupted, (select count(*) from webhook_attempts) as noted,
             (select count(*)
                from stat_changes s
               cross join unnest(s.changes) c
               where c.now_is = 'webhook_failed') as failures
        from webhook_deliveries w`);
    assert.deepEqual(row, expected);
  });
}

test("an overtaken node that tried nothing leaves the attempt on record as interrupted", async () => {
  await using world = await webhookWorld();
  const { db } = world;
  await world.sent(1, { url: ADDRESS });
  const claim = await claimOne(world, "first");
  await db.query(sql`
    update webhook_deliveries set leased_until = clock_timestamp(), next_at = clock_timestamp()`);
  await claimOne(world, "again");

  await recorderOf(db).record({ claim, at, attempt: null, next: "put_back", waitMs: 0 });

  const noted = await db.query(sql`select attempt, error_class from webhook_attempts`);
  assert.deepEqual(noted, [{ attempt: 1, error_class: "interrupted" }]);
});

test("an overtaken node's attempt is on record, and its delivery is the new holder's to count and end", async () => {
  await using world = await webhookWorld();
  const { db } = world;
  const claimAgain = async () => {
    await world.expireLeases();
    await claimOne(world, "again");
  };
  // A replay counts the leases from 1 again.
  const replay = () => db.query(sql`update webhook_deliveries set replay_id = gen_random_uuid()`);
  for (const overtake of [claimAgain, replay]) {
    for (const told of [
      { next: "again", step: 1, waitMs: 0 },
      { next: "ended", ended: "delivered" },
    ] as const) {
      await db.query(sql`truncate webhook_deliveries, webhook_attempts`);
      await world.sent(1, { url: ADDRESS });
      const claim = await claimOne(world, "first");
      await overtake();

      await recorderOf(db).record({ claim, at, attempt, ...told });

      const [row] = await db.query(sql`
        select leased_until is not null as "isLeased", step from webhook_deliveries`);
      assert.deepEqual(row, { isLeased: true, step: 0 });
      const noted = await db.query(sql`select attempt, error_class, ended from webhook_attempts`);
      assert.deepEqual(noted, [{ attempt: 1, error_class: "http_500", ended: null }]);
    }
  }
  const counted = await db.query(sql`
    select from stat_changes s cross join unnest(s.changes) c where c.now_is = 'webhook_delivered'`);
  assert.deepEqual(counted, []);
});

test("a delivery that was given up while its holder hung stays exhausted, whatever that reports later", async () => {
  await using world = await webhookWorld();
  const { db } = world;
  await world.sent(1, { url: ADDRESS });
  await db.query(sql`update webhook_deliveries set interrupted = 2`);
  const claim = await claimOne(world, "first");
  await world.expireLeases();
  assert.deepEqual(await claimAll(world, "again"), []);

  await recorderOf(db).record({ claim, at, attempt, next: "again", step: 1, waitMs: 0 });

  const noted = await db.query(sql`select attempt, error_class, ended from webhook_attempts`);
  assert.deepEqual(noted, [{ attempt: 1, error_class: "http_500", ended: "exhausted" }]);
});

test("an event waits for an earlier one of its message whose holder was lost, until that is taken up again", async () => {
  await using world = await webhookWorld();
  const messageId = await world.message({ url: ADDRESS });
  await world.move(messageId, "SENT");
  await claimOne(world, "first");
  await world.move(messageId, "DELIVERED");
  await world.expireLeases();

  assert.deepEqual(await claimAll(world, "first"), []);
  const again = await claimAll(world, "again");

  assert.deepEqual(
    again.map(({ sequence }) => sequence),
    [2],
  );
});

test("a result that the database does not take within its lease is given up: others deliver it by then", async () => {
  const manual = manualClock();
  const clock = { ...manual, sleep: async (ms: number) => manual.advance(ms) };
  const claim = { ...CLAIM, claimedHere: localMoment(manual) };
  let asked = 0;
  const query = () => {
    asked += 1;
    // Asking this often counts as asking for ever.
    throw asked < 1_000 ? new DatabaseUnavailable("away") : new Error("asked for ever");
  };
  const db = { query } as unknown as Database;

  await recorderOf(db, clock).record({ claim, at, attempt, next: "ended", ended: "delivered" });

  assert.ok(asked > 1);
});

test("recording fails at once if the database says why, and is not tried again", async () => {
  let asked = 0;
  const query = () => {
    asked += 1;
    return Promise.reject(new Error("a bug"));
  };
  const recorder = recorderOf({ query } as unknown as Database);
  const recorded = { claim: { ...CLAIM, claimedHere: localMoment(systemClock) }, at, attempt };

  await assert.rejects(
    recorder.record({ ...recorded, next: "ended", ended: "delivered" }),
    /a bug/,
  );

  assert.equal(asked, 1);
});

const CLAIM: Claim = {
  messageId: NIL_ID,
  sequence: 2,
  accountId: NIL_ID,
  hostKey: 1n,
  replayId: null,
  attempt: 1,
  step: 0,
  epoch: 1,
  createdAt: at,
  claimedAt: at,
  claimedHere: { monotonicMs: 0, leaseMs: 0 },
};

const ADDRESS = "http://127.0.0.1:9/";

async function claimOne(world: WebhookWorld, kind: Kind): Promise<Claim> {
  const [claim] = await claimAll(world, kind);
  assert.ok(claim);
  return claim;
}

async function claimAll(
  { db, accountId, secrets }: WebhookWorld,
  kind: Kind,
): Promise<readonly Claim[]> {
  const lanes = [{ hostKey: hostKeyOf(accountId, ADDRESS), most: 5 }];
  const moment = localMoment(systemClock);
  return (await claimDeliveries(db, { lanes, kind, moment, secrets })).deliveries;
}

function recorderOf(db: Database, clock: Clock = systemClock) {
  const deps = { clock, log: silentLog, metrics: createMetrics(), onFreed() {} };
  return attemptRecorder({ db, ...deps });
}

function losingOneAnswer(db: Database): Database {
  let isFirst = true;
  return {
    ...db,
    async query(statement) {
      const rows = await db.query(statement);
      if (isFirst) {
        isFirst = false;
        throw new DatabaseUnavailable("Connection terminated unexpectedly");
      }
      return rows as never;
    },
  };
}
