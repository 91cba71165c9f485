import assert from "node:assert/strict";
import { test } from "node:test";
import { CONNECTIONS_A_NODE } from "./cli/doctor/server-settings.ts";
import { CONNECTIONS } from "./pools.ts";

test("doctor counts as many connections for a node as its pools may open", () => {
  const opened = Object.values(CONNECTIONS).reduce((sum, connections) => sum + connections);
  assert.equal(CONNECTIONS_A_NODE, opened);
});
