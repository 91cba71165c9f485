import assert from "node:assert/strict";
import { test } from "node:test";
import { newId, sql, systemClock } from "#platform";
import { testDatabase } from "../../test/support/postgres.ts";
import { bindShares } from "./bind-shares.ts";

test("the binds of a carrier that is leaving stay this node's until it has left", async () => {
  await using db = await testDatabase();
  const startedAt = systemClock.now();
  const [nodeId, carrierId] = [newId(startedAt.getTime()), newId(startedAt.getTime())];
  const node = { nodeId, roles: ["sender"], host: "test", pid: 1, version: "0", startedAt };
  await db.query(sql`
    insert into bind_leases (carrier_id, slot, node_id, leased_until)
    values (${carrierId}, 0, ${nodeId}, clock_timestamp() + interval '1 s')`);

  const leaving = new Map([[carrierId, "until its last answer"]]);
  await bindShares({ db, clock: systemClock, node, members: new Map(), leaving }).renew();

  const leases = await db.query(sql`
    select slot, leased_until > clock_timestamp() + interval '10 s' as is_renewed from bind_leases`);
  assert.deepEqual(leases, [{ slot: 0, is_renewed: true }]);
});
