import assert from "node:assert/strict";
import { test } from "node:test";
import type { Carrier } from "#carriers";
import type { MessageRow } from "#messages";
import { newId, silentLog, systemClock } from "#platform";
import { absentDatabase, recorderOf } from "../../test/support/recorder.ts";
import { eventually } from "../../test/support/eventually.ts";
import { runCarrier } from "./carrier-run.ts";

test("nobody is taken at once before the queue was seen empty: others may wait longer", async () => {
  const looked = Promise.withResolvers<never[]>();
  const db = { ...absentDatabase(), query: () => looked.promise };
  const nodeId = newId(systemClock.now().getTime());
  const run = runCarrier({
    db,
    carrier: roomy,
    recorder: recorderOf(db, nodeId),
    routing: () => assert.fail("nothing is handed over"),
    isPaused: () => false,
    nodeId,
    clock: systemClock,
    log: silentLog,
  });
  const message = { segments: 1 } as MessageRow;

  const isTakenBefore = run.reserve(message);
  looked.resolve([]);
  await eventually("it is taken", async () => run.reserve(message));
  run.release(message);
  await run.stop();

  assert.equal(isTakenBefore, false);
});

const roomy = {
  carrierId: "c1",
  name: "c1",
  room: () => 10,
  onRoom() {},
  stop: () => Promise.resolve(),
} as unknown as Carrier;
