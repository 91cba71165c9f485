import assert from "node:assert/strict";
import { test } from "node:test";
import { operations } from "#contract";
import { failedAuthentications, serveOperations } from "#http";
import { createMetrics, type Database, systemClock } from "#platform";
import { problemOf } from "../../test/support/answers.ts";
import { bareServer } from "../../test/support/bare-server.ts";
import { authenticator } from "./authenticator.ts";
import { makeKey } from "./key.ts";

test("a request behind ten thousand waiting key lookups is told to wait, not that the database is away", async () => {
  const silent = { query: () => new Promise(() => {}) } as unknown as Database;
  const limits = { sends: 1, sendsBurst: 1, reads: 1, readsBurst: 1 };
  const keys = authenticator({ db: silent, limits, onUse: () => undefined });
  const app = bareServer();
  const { retrieveCredits } = operations;
  serveOperations(app, {
    operations: { retrieveCredits },
    handlers: { retrieveCredits: () => assert.fail("It was let in.") },
    refinements: {},
    authenticator: keys,
    failures: failedAuthentications(20, systemClock),
    metrics: createMetrics(),
  });
  await app.ready();
  const key = makeKey();
  // Four statements of five hundred lookups each are now running.
  for (let n = 0; n < 2_000; n += 1) void keys.lookUp(key, true);
  await new Promise(setImmediate);
  for (let n = 0; n < 10_000; n += 1) void keys.lookUp(key, true);

  const answer = await app.inject({ url: "/v1/credits", headers: { "x-api-key": key } });

  problemOf(answer, "QUEUE_FULL");
  assert.equal(answer.headers["retry-after"], "1");
});
