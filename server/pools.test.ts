import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics, silentLog, sql } from "#platform";
import { limitedRole } from "../test/support/limited-role.ts";
import { testDatabase } from "../test/support/postgres.ts";
import { CONNECTIONS_A_NODE } from "./cli/doctor/server-settings.ts";
import { CONNECTIONS, openPools } from "./pools.ts";

test("doctor counts as many connections per node as its pools may open", () => {
  const opened = Object.values(CONNECTIONS).reduce((sum, connections) => sum + connections);
  assert.equal(CONNECTIONS_A_NODE, opened);
});

test("each kind of work has a connection from the start, even if others take all that is left", async () => {
  await using db = await testDatabase();
  await using role = await limitedRole(db);
  const pools = openPools({ url: role.url, log: silentLog, metrics: createMetrics() });
  await pools.open();

  await role.limit(0);

  const { open: _open, close, ...kinds } = pools;
  for (const [kind, pool] of Object.entries(kinds))
    assert.deepEqual(await pool.query(sql`select 1 as one`), [{ one: 1 }], kind);
  await close();
});
