import assert from "node:assert/strict";
import { test } from "node:test";
import { randomBytes } from "node:crypto";
import {
  createMetrics,
  type Database,
  type Log,
  newId,
  secretBox,
  silentLog,
  systemClock,
} from "#platform";
import { manualClock } from "../../test/support/manual-clock.ts";
import { testDatabase } from "../../test/support/postgres.ts";
import { carrierFleet } from "./fleet.ts";

const secrets = secretBox(randomBytes(32));

test("a carrier whose owed receipts cannot be looked for is started all the same, and they are looked for again", async () => {
  await using database = await testDatabase();
  let looks = 0;
  const db = watched(database, (statement) => {
    if (statement.includes("receipts is null") && ++looks === 1) throw new Error("cut off");
  });
  const told: string[] = [];
  const tell = (_fields: object, text: string) => void told.push(text);
  await using node = nodeOn(db, { log: { ...silentLog, info: tell, error: tell } });

  await assert.rejects(node.look(), /cut off/);
  await node.look();

  assert.deepEqual(told, ["carrier simulator started"]);
  assert.equal(looks, 2);
});

/** A database that hears of every statement before it is sent. */
function watched(database: Database, onStatement: (text: string) => void): Database {
  return {
    ...database,
    async query(statement) {
      onStatement(JSON.stringify(statement));
      return await database.query(statement);
    },
  };
}

/** A node whose loops run only when they are called, and whose time passes when it is told to. */
function nodeOn(db: Database, { log = silentLog }: { log?: Log } = {}) {
  const clock = manualClock();
  const startedAt = systemClock.now();
  const nodeId = newId(startedAt.getTime());
  const node = { nodeId, roles: ["sender"], host: "test", pid: 1, version: "0", startedAt };
  const metrics = createMetrics();
  const fleet = carrierFleet({ db, recordDb: db, clock, log, metrics, secrets, node });
  const pass = async (name: string) => {
    const { signal } = new AbortController();
    await fleet.loops.find((loop) => loop.name === name)?.pass(signal);
  };
  return {
    nodeId,
    clock,
    look: () => pass("keep carriers in step"),
    [Symbol.asyncDispose]: () => fleet.stop(),
  };
}
