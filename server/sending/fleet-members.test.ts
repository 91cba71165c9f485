import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#platform";
import type { CarrierRun } from "./carrier-run.ts";
import type { CarrierRow } from "./carriers-table.ts";
import { fleetMembers } from "./fleet-members.ts";

const row = { carrier_id: "c1", name: "c1", settings: {}, password: null } as unknown as CarrierRow;

test("a stop waits for the answers of a carrier that was leaving already, and starts no other", async () => {
  const { promise: answered, resolve } = Promise.withResolvers<void>();
  let started = 0;
  const fleet = fleetMembers({
    log: silentLog,
    start() {
      started += 1;
      const run = { carrier: { start() {} }, stop: () => answered } as unknown as CarrierRun;
      return { run, binds: undefined, recall: () => Promise.resolve(), recalls: 0 };
    },
  });
  fleet.keepInStep([row]);
  fleet.keepInStep([]);

  let isStopped = false;
  const stopped = fleet.stop().then(() => (isStopped = true));
  fleet.keepInStep([{ ...row, carrier_id: "c2" }]);
  await new Promise((done) => setImmediate(done));
  assert.deepEqual([isStopped, started], [false, 1]);
  resolve();
  await stopped;
});
