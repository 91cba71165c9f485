import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createMetrics,
  type Database,
  DatabaseUnavailable,
  secretBox,
  silentLog,
  type Sql,
  systemClock,
} from "#platform";
import { testEgress } from "../../test/support/egress.ts";
import { attempt, key, ok } from "../../test/support/lanes.ts";
import { manualClock } from "../../test/support/manual-clock.ts";
import { until } from "../../test/support/until.ts";
import { webhookWorld } from "../../test/support/webhook-world.ts";
import { deliveryLoop } from "./delivery-loop.ts";
import { laneKeeper } from "./lanes.ts";
import { poster } from "./post.ts";
import { WALK_EVERY_MS } from "./schedule.ts";

test("what wakes the loop does not put off the walk that finds retries", async () => {
  const clock = manualClock();
  const egress = testEgress();
  let walks = 0;
  const query = ({ text }: Sql) => {
    if (text.includes("due_lanes")) walks += 1;
    return Promise.resolve([]);
  };
  const loop = deliveryLoop({
    db: { query } as unknown as Database,
    clock,
    log: silentLog,
    metrics: createMetrics(),
    secrets: secretBox(Buffer.alloc(32)),
    lanes: laneKeeper({ clock }),
    poster: poster(egress),
    policy: egress.policy,
    version: "test",
  });
  loop.start();
  await until("it rests", () => walks === 1 && clock.waiting() === 2);

  clock.advance(WALK_EVERY_MS - 1);
  loop.wake([]);
  await new Promise(setImmediate);
  clock.advance(1);

  await until("it walks again", () => walks === 2);
  await loop.stop();
});

test("first attempts are claimed before retries and replays, so that no backlog of those delays them", async () => {
  const clock = manualClock();
  const egress = testEgress();
  const claims: unknown[] = [];
  const [first_at, again_at] = [clock.now(), clock.now()];
  const due = [{ host_key: "65536", n: 1, first_at, again_at }];
  const query = ({ text, values }: Sql) => {
    if (text.includes("claim_deliveries")) claims.push(values[2]);
    return Promise.resolve(text.includes("due_lanes") ? due : []);
  };
  const loop = deliveryLoop({
    db: { query } as unknown as Database,
    clock,
    log: silentLog,
    metrics: createMetrics(),
    secrets: secretBox(Buffer.alloc(32)),
    lanes: laneKeeper({ clock }),
    poster: poster(egress),
    policy: egress.policy,
    version: "test",
  });

  loop.start();
  await until("it has claimed both", () => claims.length === 2);
  await loop.stop();

  assert.deepEqual(claims, [true, false]);
});

test("no place is kept in a lane where something older waits for a claim", () => {
  const clock = manualClock();
  const egress = testEgress();
  const lanes = laneKeeper({ clock });
  attempt(lanes, key(1), ok);
  const loop = deliveryLoop({
    db: {} as Database,
    clock,
    log: silentLog,
    metrics: createMetrics(),
    secrets: secretBox(Buffer.alloc(32)),
    lanes,
    poster: poster(egress),
    policy: egress.policy,
    version: "test",
  });

  const before = loop.reserve(key(1));
  loop.wake([key(1)]);

  assert.notEqual(before, null);
  assert.equal(loop.reserve(key(1)), null);
});

test("who loses the database between a claim and what signs it says that, and calls no secret wrong", async () => {
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
