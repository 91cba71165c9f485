import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createMetrics,
  type Database,
  DatabaseUnavailable,
  NIL_ID,
  secretBox,
  silentLog,
  type Sql,
  systemClock,
} from "#platform";
import { testEgress } from "../../test/support/egress.ts";
import { attempt, key, ok } from "../../test/support/lanes.ts";
import { type ManualClock, manualClock } from "../../test/support/manual-clock.ts";
import { until } from "../../test/support/until.ts";
import { webhookWorld } from "../../test/support/webhook-world.ts";
import { deliveryLoop } from "./delivery-loop.ts";
import { laneKeeper, type Lanes } from "./lanes.ts";
import { poster } from "./post.ts";
import { WALK_EVERY_MS } from "./schedule.ts";

test("waking the loop does not put off the walk that finds retries", async () => {
  const clock = manualClock();
  let walks = 0;
  const query = ({ text }: Sql) => {
    if (text.includes("due_lanes")) walks += 1;
    return Promise.resolve([]);
  };
  const loop = loopOf({ clock, query });
  loop.start();
  await until("it rests", () => walks === 1 && clock.waiting() === 2);

  clock.advance(WALK_EVERY_MS - 1);
  loop.wake([]);
  await new Promise(setImmediate);
  clock.advance(1);

  await until("it walks again", () => walks === 2);
  await loop.stop();
});

test("first attempts are claimed first, and only they beyond the free slots; unused slots are given back", async () => {
  const clock = manualClock();
  const lanes = laneKeeper({ clock });
  attempt(lanes, key(1), ok);
  const claims: unknown[] = [];
  const [first_at, again_at] = [clock.now(), clock.now()];
  const due = [{ host_key: "65536", n: 1, first_at, again_at }];
  const query = ({ text, values }: Sql) => {
    if (text.includes("claim_deliveries")) claims.push({ isFirst: values[2], most: values[1] });
    return Promise.resolve(text.includes("due_lanes") ? due : []);
  };
  const loop = loopOf({ clock, query, lanes });

  loop.start();
  await until("it has claimed both", () => claims.length === 2);
  await loop.stop();

  // A lease that ran out must mean an attempt, or crashes would end what was never tried.
  assert.deepEqual(claims, [
    { isFirst: true, most: [8 + 256] },
    { isFirst: false, most: [8] },
  ]);
  assert.equal(lanes.inFlight().all, 0);
});

test("after a failed walk the loop rests as after any other", async () => {
  const clock = manualClock();
  let walks = 0;
  const query = ({ text }: Sql) => {
    if (!text.includes("due_lanes")) return Promise.resolve([]);
    walks += 1;
    return Promise.reject(new Error());
  };
  const loop = loopOf({ clock, query });
  loop.start();
  await until("it rests", () => walks === 1 && clock.waiting() === 2);

  clock.advance(WALK_EVERY_MS - 1);
  await new Promise(setImmediate);
  assert.equal(walks, 1);
  clock.advance(1);
  await until("it walks again", () => walks === 2);
  await loop.stop();
});

test("a stop waits for webhooks on their way from the commit, and gives them back", async () => {
  const clock = manualClock();
  const lanes = laneKeeper({ clock });
  attempt(lanes, key(1), ok);
  const secrets = Promise.withResolvers<object[]>();
  const asked: string[] = [];
  const query = ({ text }: Sql) => {
    asked.push(/signing_secrets|record_attempts/.exec(text)?.[0] ?? "else");
    return text.includes("signing_secrets") ? secrets.promise : Promise.resolve([]);
  };
  const loop = loopOf({ clock, query, lanes });
  const leasedHere = loop.reserve(key(1)) ?? assert.fail("no place");
  const [at, leasedAt] = [clock.now(), clock.now()];
  const url = "http://127.0.0.1:8080/";
  const born = { messageId: NIL_ID, sequence: 2, accountId: NIL_ID, hostKey: key(1), url };
  const told = { status: "SENT" as const, body: Buffer.from("{}"), at, leasedAt, leasedHere };
  loop.take([{ ...born, ...told }]);

  const stopping = loop.stop();
  await new Promise(setImmediate);
  assert.deepEqual(asked, ["signing_secrets"]);
  secrets.resolve([]);
  await stopping;

  assert.deepEqual(asked, ["signing_secrets", "record_attempts", "else"]);
});

test("no place is kept in a lane where an older webhook waits for a claim", () => {
  const clock = manualClock();
  const lanes = laneKeeper({ clock });
  attempt(lanes, key(1), ok);
  const loop = loopOf({ clock, lanes });

  const before = loop.reserve(key(1));
  loop.wake([key(1)]);

  assert.notEqual(before, null);
  assert.equal(loop.reserve(key(1)), null);
});

test("losing the database between a claim and its signing is logged as that, and no secret is called wrong", async () => {
  await using world = await webhookWorld();
  await world.sent(2, { url: "http://127.0.0.1:1/" });
  const query = (statement: Sql) =>
    statement.text.includes("signing_secrets")
      ? Promise.reject(new DatabaseUnavailable("away"))
      : world.db.query(statement);
  const logged: string[] = [];
  const say = (_fields: object, sentence: string) => void logged.push(sentence);
  const egress = testEgress();
  const loop = deliveryLoop({
    db: { ...world.db, query } as Database,
    clock: systemClock,
    log: { ...silentLog, error: say, warn: say },
    metrics: createMetrics(),
    secrets: world.secrets,
    lanes: laneKeeper({ clock: systemClock }),
    poster: poster(egress),
    policy: egress.policy,
    version: "test",
  });

  loop.start();
  await until("it says so", () => logged.length > 0);
  await loop.stop();

  assert.deepEqual(logged, ["webhooks wait for the database to be signed"]);
});

type Watched = {
  clock: ManualClock;
  query?: (statement: Sql) => Promise<object[]>;
  lanes?: Lanes;
};

/** A loop on a database with scripted answers. */
function loopOf({ clock, query, lanes = laneKeeper({ clock }) }: Watched) {
  const egress = testEgress();
  return deliveryLoop({
    db: { query } as unknown as Database,
    clock,
    log: silentLog,
    metrics: createMetrics(),
    secrets: secretBox(Buffer.alloc(32)),
    lanes,
    poster: poster(egress),
    policy: egress.policy,
    version: "test",
  });
}
