import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { eventually } from "../test/support/eventually.ts";
import { probe } from "./ports.ts";

test("a client that connects while a start checks its port is cut off, and does not hold up the start", async () => {
  await using held = await probe({ host: "127.0.0.1", port: 0 }, ["PORT", "HOST and PORT"]);
  await using client = connect(held.port, "127.0.0.1");
  client.resume();

  await once(client, "connect");

  assert.ok(await eventually("the connection is closed", async () => client.closed));
});
