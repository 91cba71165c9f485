import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { testDatabase } from "../support/postgres.ts";
import { startService } from "../support/process.ts";

test("a service out of file descriptors still serves open connections, and new ones once some are free", async (t) => {
  await using db = await testDatabase();
  await using service = await startService(db.url, {}, { openFiles: 120 });
  const { hostname, port } = new URL(service.url);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const ready = async () => {
    const asked = request(`${service.url}/readyz`, { agent }).end();
    const [answer] = await once(asked, "response");
    answer.resume();
    return { status: answer.statusCode, isKept: asked.reusedSocket };
  };
  await ready();

  const strangers: Socket[] = [];
  let turnedAway = 0;
  for (let n = 0; n < 200; n += 1) {
    const stranger = connect(Number(port), hostname);
    stranger.on("error", () => undefined);
    stranger.on("close", () => (turnedAway += 1));
    strangers.push(stranger);
  }
  await eventually("no descriptor is left", () => Promise.resolve(turnedAway > 0));
  const meanwhile = await ready();
  for (const stranger of strangers) stranger.destroy();
  const afterwards = await eventually("it takes new clients", () =>
    fetch(`${service.url}/readyz`).then(
      ({ status }) => status,
      () => false as const,
    ),
  );

  assert.deepEqual(meanwhile, { status: 200, isKept: true });
  assert.equal(afterwards, 200);
});
