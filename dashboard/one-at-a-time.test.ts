import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as settled } from "node:timers/promises";
import { oneAtATime } from "./one-at-a-time.ts";

test("calls made meanwhile run once, as the last one asked, even after a failure", async () => {
  const once = oneAtATime();
  const ran: string[] = [];
  const { promise: firstEnds, reject } = Promise.withResolvers<void>();
  const [thirdRuns, fourthRuns] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];

  once(async () => {
    ran.push("first");
    await firstEnds;
  });
  once(async () => void ran.push("second"));
  once(async () => {
    ran.push("third");
    thirdRuns.resolve();
  });
  reject(new Error("the service is away"));
  await thirdRuns.promise;
  await settled();
  once(async () => {
    ran.push("fourth");
    fourthRuns.resolve();
  });
  await fourthRuns.promise;

  assert.deepEqual(ran, ["first", "third", "fourth"]);
});
